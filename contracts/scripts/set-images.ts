import { Buffer } from 'node:buffer';
import { Command } from 'ioredis';
import type { StreamClient } from './scripts.js';

/** Where an image goes, and its bytes. */
export type KeyedImage = readonly [key: string, image: Buffer];

/**
 * Writes images under their keys, in one MSET whose pieces go to the socket as they are: the library would first copy all
 * images into one buffer. The bytes must not change until the reply is there.
 */
export async function setImages(client: StreamClient, images: readonly KeyedImage[]): Promise<unknown> {
  const command = new Command('mset', images.flat());
  command.toWritable = (socket: object) => {
    if (!isWriter(socket)) throw new Error('an image needs a socket that it can be written to');
    // The library writes what is returned; what comes before it must be written by then.
    let head = `*${String(1 + 2 * images.length)}\r\n$4\r\nmset\r\n`;
    for (const [key, image] of images) {
      socket.write(`${head}$${String(Buffer.byteLength(key))}\r\n${key}\r\n$${String(image.length)}\r\n`);
      socket.write(image);
      head = '\r\n';
    }
    return head;
  };
  return client.sendCommand(command);
}

interface Writer {
  write(piece: string | Uint8Array): unknown;
}

function isWriter(socket: object): socket is Writer {
  return 'write' in socket && typeof socket.write === 'function';
}
