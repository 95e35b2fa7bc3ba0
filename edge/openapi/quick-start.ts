import { html } from 'hono/html';
import { code, inline, type Markup } from './page-text.js';

interface Step {
  readonly title: string;
  readonly lines: string;
  readonly then: string;
}

/** Lines that a newcomer can copy from the top to the bottom, in one shell, in the folder of the repository. */
const steps: readonly Step[] = [
  {
    title: 'Get a photo',
    lines: 'cp node_modules/@vladmandic/face-api/demo/sample1.jpg photo.jpg',
    then: 'One comes with the packages; any photo of yours does as well.',
  },
  {
    title: 'Make a key, only where keys are asked for',
    lines: `export REDIS_URL=redis://127.0.0.1:6379
KEY=$(npm run -s ops -- keys create --tenant acme --tier standard --models coco,nsfw --expires 90d)`,
    then: '`npm start` lets everybody in, and prints its own `REDIS_URL`. With `SAMPAN_AUTH=on` add `-H "authorization: Bearer $KEY"` to each line below.',
  },
  {
    title: 'Ask a model',
    lines: `curl --data-binary @photo.jpg -H 'content-type: image/jpeg' "$BASE/v1/models/coco/predict?minScore=0.5"
curl -F image=@photo.jpg -F maxDetections=5 "$BASE/v1/models/coco/predict"
printf '{"image":"%s","params":{"top":2}}' "$(base64 < photo.jpg | tr -d '\\n')" |
  curl -H 'content-type: application/json' -d @- "$BASE/v1/models/nsfw/predict"`,
    then: 'The picture is the body, a field of a form, or base64 in JSON. Sent again, it is answered from the cache: `"cache":"hit"`.',
  },
  {
    title: 'Come back for the answer',
    lines: `LOCATION=$(curl -s -D - -o /dev/null -H 'prefer: respond-async' -H 'content-type: image/jpeg' --data-binary @photo.jpg "$BASE/v1/models/nsfw/predict?top=3" | tr -d '\\r' | sed -n 's/^[Ll]ocation: //p')
curl -H 'prefer: wait=10' "$BASE$LOCATION"`,
    then: 'The first is answered 202 with a `Location`; the second when the task has ended, or after ten seconds. What the cache holds is answered at once with 200, and has no `Location`.',
  },
  {
    title: 'Ask about many',
    lines: 'curl -F image=@photo.jpg -F image=@photo.jpg "$BASE/v1/models/coco/batch"',
    then: 'Each picture succeeds or fails by itself.',
  },
  {
    title: 'Look an answer up by the digests of the photo',
    lines:
      'curl "$BASE/v1/models/coco/results/$(md5sum < photo.jpg | cut -c1-32)?sha256=$(sha256sum < photo.jpg | cut -c1-64)&minScore=0.5"',
    then: 'The picture stays where it is; the parameters are those that it was asked with.',
  },
];

export function quickStart(): Markup {
  const shown = steps.map(
    ({ title, lines, then }) =>
      html`<li>
        <p class="label">${title}</p>
        ${code(lines)}
        <p>${inline(then)}</p>
      </li>`,
  );
  return html`<section id="start">
    <h2>Quick start</h2>
    <p>Line by line, in one shell, in the folder of the repository:</p>
    <ol>
      ${shown}
    </ol>
  </section>`;
}
