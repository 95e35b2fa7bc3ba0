import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { after } from 'node:test';

/** A way to a server on which connections go silent for good while they stay open, as behind a firewall that forgot them. */
export interface StrandingProxy {
  readonly url: string;
  /** From now on nothing comes through on the connections that are open; answers how many. New ones work. */
  strand(): number;
  /** From now on nothing comes back on connections whose client gives itself a name that contains this, new ones too. */
  strandNamed(text: string): void;
}

interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
  /** What the client said so far, as far as its name can stand there. */
  said: string;
  stranded: boolean;
}

/** A client gives its name among the first things that it says. */
const introduction = 1000;

/** Starts a proxy in front of a Redis on this host; it is closed when the file ends. */
export async function strandingProxy(port: number): Promise<StrandingProxy> {
  const links = new Set<Link>();
  let name: string | undefined;
  const isNamed = ({ said }: Link) => name !== undefined && said.includes(name);
  const server = createServer((client) => {
    const link: Link = { client, upstream: connect(port, '127.0.0.1'), said: '', stranded: false };
    links.add(link);
    const { upstream } = link;
    for (const socket of [client, upstream]) socket.setNoDelay(true).on('error', () => undefined);
    client.on('data', (chunk: Buffer) => {
      if (link.said.length < introduction) link.said += chunk.toString('latin1');
      if (!link.stranded) upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (!link.stranded && !isNamed(link)) client.write(chunk);
    });
    client.once('close', () => {
      links.delete(link);
      upstream.destroy();
    });
    upstream.once('close', () => {
      if (!link.stranded) client.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.close();
    for (const { client } of links) client.destroy();
  });
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    strand: () => {
      for (const link of links) link.stranded = true;
      return links.size;
    },
    strandNamed: (text) => {
      name = text;
    },
  };
}
