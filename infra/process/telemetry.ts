import {
  context,
  createNoopMeter,
  metrics as metricsApi,
  ROOT_CONTEXT,
  trace,
  type ContextManager,
  type Meter,
  type Tracer,
} from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { NodeSDK, resources, tracing, type NodeSDKConfiguration } from '@opentelemetry/sdk-node';
import { carryingTracer } from './carrying-tracer.js';
import { handingOn } from './handing-on.js';
import { startMetricsServer } from './metrics-server.js';
import { sampledFirst, type SampledFirst } from './sampled-first.js';
import { samplerFrom } from './sampling.js';
import { createTraceStore, type SpanKeeper } from './trace-store.js';
import { within } from './within.js';

type Environment = Readonly<Record<string, string | undefined>>;

export interface TelemetryOptions {
  /** Value of service.name, such as `sampan-edge`; OTEL_SERVICE_NAME overrides it. */
  readonly service: string;
  /** Value of service.instance.id: which of many. */
  readonly instance: string;
  readonly host: string;
  /** Port of /metrics; 0 takes any free one. */
  readonly metricsPort: number;
  /** Where OTEL_* is looked up by us. The SDK's exporters look up theirs (endpoint, headers, …) in process.env. */
  readonly env: Environment;
  /** Keeps the spans of sampled traces, beside a collector or without one. */
  readonly keeper?: SpanKeeper | undefined;
}

export interface Telemetry {
  readonly tracer: Tracer;
  readonly meter: Meter;
  /** Where Prometheus scrapes; undefined when OTEL_SDK_DISABLED is true. */
  readonly metricsUrl: string | undefined;
  /** Whether spans of sampled traces are recorded, and sent or kept. */
  readonly exportsTraces: boolean;
  /** Sends and keeps what is recorded, within a bound, and stops serving metrics. */
  shutdown(): Promise<void>;
}

/** A shutdown does not wait longer than this for a collector that does not answer. */
const shutdownLimitMs = 3_000;
/** The SDK keeps 128 links of a span; the largest batch has 1024 members. */
const linkCountLimit = 1024;
const scope = 'sampan';

/**
 * Starts tracing and metrics for one process. Spans are exported only if OTEL_EXPORTER_OTLP_ENDPOINT or
 * OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, and kept only where there is a keeper; logs never; metrics are only served.
 * Nothing is instrumented by itself and nothing global stays behind: tracer and meter are handed on, spans are passed
 * explicitly, so no request pays for asynchronous context.
 * @throws Error in words for people: metrics port in use, a sampler that is not known
 */
export async function startTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  if (isTrue(options.env['OTEL_SDK_DISABLED'])) return disabledTelemetry;
  const sendsTraces = wantsTraces(options.env);
  const exportsTraces = sendsTraces || options.keeper !== undefined;
  const sampling = exportsTraces ? sampledFirst(samplerFrom(options.env)) : undefined;
  const exporter = new PrometheusExporter({ preventServerStart: true, withoutScopeInfo: true });
  const sdk = new NodeSDK({
    ...(sampling ? tracingSettings(options.env, sampling) : {}),
    // Given none, the SDK makes those for a collector; given no more than an empty list, it makes no tracer.
    ...(sendsTraces ? {} : { spanProcessors: sampling ? [new tracing.NoopSpanProcessor()] : [] }),
    metricReaders: [exporter],
    logRecordProcessors: [],
    instrumentations: [],
    textMapPropagator: null,
    contextManager: withoutContext,
    resource: resourceOf(options),
    resourceDetectors: [resources.envDetector],
  });
  const server = await startMetricsServer(options.host, options.metricsPort, exporter);
  sdk.start();
  const recording = trace.getTracer(scope);
  const meter = metricsApi.getMeter(scope);
  forgetGlobals();
  const store = options.keeper && createTraceStore({ ...options.keeper, meter });
  const tracer = sampling?.wrap(store ? handingOn(recording, store) : recording) ?? carryingTracer;
  return {
    tracer,
    meter,
    metricsUrl: server.url,
    exportsTraces,
    shutdown: async () => {
      await Promise.all([store?.shutdown(), within(shutdownLimitMs, sdk.shutdown()), server.close()]);
    },
  };
}

const disabledTelemetry: Telemetry = {
  tracer: carryingTracer,
  meter: createNoopMeter(),
  metricsUrl: undefined,
  exportsTraces: false,
  shutdown: () => Promise.resolve(),
};

function wantsTraces(env: Environment): boolean {
  const endpoint = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  return endpoint !== undefined && endpoint !== '' && env['OTEL_TRACES_EXPORTER'] !== 'none';
}

function tracingSettings(env: Environment, { sampler, idGenerator }: SampledFirst): Partial<NodeSDKConfiguration> {
  const limited = env['OTEL_SPAN_LINK_COUNT_LIMIT'];
  return { sampler, idGenerator, ...(limited ? {} : { spanLimits: { linkCountLimit } }) };
}

function resourceOf({ service, instance }: TelemetryOptions) {
  const own = { 'service.name': service, 'service.instance.id': instance, 'service.namespace': 'sampan' };
  return resources.defaultResource().merge(resources.resourceFromAttributes(own));
}

/** NodeSDK would else track an active context through every asynchronous step; nobody here asks for it. */
const withoutContext: ContextManager = {
  active: () => ROOT_CONTEXT,
  with: (_context, run, thisArg, ...args) => run.call(thisArg, ...args),
  bind: (_context, target) => target,
  enable: () => withoutContext,
  disable: () => withoutContext,
};

/** NodeSDK hands its providers out only through globals, which would tie all parts of one process together. */
function forgetGlobals(): void {
  trace.disable();
  metricsApi.disable();
  context.disable();
}

function isTrue(value: string | undefined): boolean {
  return value?.trim().toLowerCase() === 'true';
}
