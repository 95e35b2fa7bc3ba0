export const queueName = 'predict';

/** How a caller gets the result of its job. */
export const resultWays = { wait: 'waitUntilFinished', listener: 'a map behind one completed listener' } as const;

/** BullMQ carries JSON, so a picture travels as text. */
export interface PictureJob {
  readonly image: string;
}

export const jobOf = (image: Buffer): PictureJob => ({ image: image.toString('base64') });

/** @throws Error for what is no prediction */
export function checkAnswer(returned: unknown): void {
  if (!Array.isArray(returned) || returned.length === 0) throw new Error('a job returned no prediction');
}
