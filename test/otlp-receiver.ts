import { after } from 'node:test';
import { startOtlpReceiver, type OtlpReceiver } from '../infra/trace/otlp-receiver.js';

/**
 * An OTLP receiver for the test file that calls this at its top level; it is closed when the file ends. This process
 * and those it starts export to it from then on.
 */
export async function testOtlpReceiver(): Promise<OtlpReceiver> {
  const receiver = await startOtlpReceiver();
  // The SDK's exporter looks its endpoint up here, whatever is passed to startTelemetry.
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = receiver.url;
  process.env['OTEL_BSP_SCHEDULE_DELAY'] = '50';
  after(async () => {
    delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
    await receiver.close();
  });
  return receiver;
}
