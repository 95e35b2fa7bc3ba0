/**
 * Loaded ahead of a part (`--import`): on SIGUSR2 its event loop stands still for `TEST_BLOCK_MS`, as a long computation
 * would make it.
 */
process.on('SIGUSR2', () => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(process.env['TEST_BLOCK_MS']));
});
