import { createHash } from 'node:crypto';
import sharp from 'sharp';
import * as z from 'zod';
import { simulatedLabel } from '../../backend/model/simulated-model.js';
import { photos } from '../photos.js';
import { picture } from '../pictures.js';

/** A picture and how to know its answer from that of any other. */
export interface Sent {
  readonly bytes: Buffer<ArrayBuffer>;
  readonly md5: string;
  /** What is wrong with the predictions of an answer; undefined where they are this picture's. */
  readonly wrong: (predictions: unknown) => string | undefined;
}

/** Makes pictures, each with bytes of its own. */
export type Gallery = (text: string) => Sent;

const predictionsSchema = z.array(z.object({ label: z.string(), score: z.number() })).min(1);

/** For the simulated device, whose label is a checksum of the picture. */
export function simulatedGallery(): Gallery {
  return (text) => {
    const bytes = picture(text);
    const expected = simulatedLabel(bytes);
    return {
      ...{ bytes, md5: md5Of(bytes) },
      wrong: (predictions) => {
        const label = predictionsSchema.safeParse(predictions).data?.[0]?.label;
        return label === expected ? undefined : `label ${String(label)} instead of ${expected}`;
      },
    };
  };
}

/** Scores of one photo differ from one batch to the next by less than this, and from one photo to the next by more. */
const sameScore = 0.01;

/** For a real model: photos in turn, with a tail that makes them unique. The first answer to a photo is what others must equal. */
export async function photoGallery(): Promise<Gallery> {
  const small = await Promise.all(photos.map((photo) => sharp(photo).resize(320).jpeg().toBuffer()));
  const firstScores = new Map<number, Readonly<Record<string, number>>>();
  let made = 0;
  return (text) => {
    const number = made++ % small.length;
    const bytes = Buffer.concat([small[number] ?? Buffer.alloc(0), Buffer.from(`#${text}#`)]);
    const wrong = (predictions: unknown) => {
      const parsed = predictionsSchema.safeParse(predictions);
      if (!parsed.success) return 'predictions in another form';
      const scores = Object.fromEntries(parsed.data.map(({ label, score }) => [label, score]));
      const first = firstScores.get(number);
      if (!first) firstScores.set(number, scores);
      const same = Object.entries(first ?? scores).every(
        ([label, score]) => Math.abs((scores[label] ?? Number.NaN) - score) < sameScore,
      );
      return same ? undefined : `scores ${JSON.stringify(scores)} instead of ${JSON.stringify(first)}`;
    };
    return { bytes, md5: md5Of(bytes), wrong };
  };
}

function md5Of(bytes: Uint8Array): string {
  return createHash('md5').update(bytes).digest('hex');
}
