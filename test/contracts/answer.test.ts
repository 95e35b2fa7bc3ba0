import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerBytes, type AnswerParts } from '../../contracts/answer.js';
import { seededRandom } from '../random.js';

const parts: Omit<AnswerParts, 'predictions'> = {
  ...{ id: 'toy.0.x', model: 'toy', version: '1', task: 'classify', cache: 'miss' },
  timing: { queueMs: 1, decodeMs: 2, batchWaitMs: 0.5, inferMs: 3, batchSize: 4 },
};

test('an answer is JSON with its members in the promised order', () => {
  const predictions = [{ label: 'quote " and \\ and 船', score: 0.5 }];
  const text = answerBytes({ ...parts, predictions: Buffer.from(JSON.stringify(predictions)) }).toString();
  const { timing, ...head } = parts;
  assert.equal(text, JSON.stringify({ ...head, predictions, timing }));
});

test('predictions stand in the answer byte for byte, whatever they are', () => {
  const predictions = seededRandom(9).bytes(1000);
  assert.notEqual(answerBytes({ ...parts, predictions }).indexOf(predictions), -1);
});
