import { isSpanContextValid, ROOT_CONTEXT, trace, TraceFlags, type Link } from '@opentelemetry/api';
import { tracing, type NodeSDKConfiguration } from '@opentelemetry/sdk-node';

type Sampler = NodeSDKConfiguration['sampler'];

/** Share of new traces that is recorded unless the environment says otherwise. */
const defaultRatio = 0.01;

/**
 * The sampler that OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG ask for, by OpenTelemetry's own names; by default
 * parentbased_traceidratio of 1 %. Beyond that, a root span that links a sampled span is sampled: a batch belongs to
 * no one trace, and a ratio of its own would cut it off from the traces that point to it.
 * @throws Error naming the variable whose value is not known
 */
export function samplerFrom(env: Readonly<Record<string, string | undefined>>): Sampler {
  const name = env['OTEL_TRACES_SAMPLER']?.trim() || 'parentbased_traceidratio';
  const prefix = 'parentbased_';
  if (!name.startsWith(prefix)) {
    const sampler = plainSampler(name, env);
    return samplingByLinks(sampler, sampler);
  }
  const root = plainSampler(name.slice(prefix.length), env);
  return samplingByLinks(new tracing.ParentBasedSampler({ root }), root);
}

function plainSampler(name: string, env: Readonly<Record<string, string | undefined>>): Sampler {
  if (name === 'always_on') return new tracing.AlwaysOnSampler();
  if (name === 'always_off') return new tracing.AlwaysOffSampler();
  if (name === 'traceidratio') return new tracing.TraceIdRatioBasedSampler(ratioFrom(env['OTEL_TRACES_SAMPLER_ARG']));
  throw new Error(
    `OTEL_TRACES_SAMPLER "${env['OTEL_TRACES_SAMPLER'] ?? ''}" is not known; ` +
      'known are always_on, always_off, traceidratio, each also with parentbased_ before it',
  );
}

function ratioFrom(text: string | undefined): number {
  if (text === undefined || text.trim() === '') return defaultRatio;
  const ratio = Number(text);
  if (ratio >= 0 && ratio <= 1) return ratio;
  throw new Error(`OTEL_TRACES_SAMPLER_ARG "${text}" is not a ratio from 0 to 1`);
}

/** @param root what decides where there is no parent: asked at once, since most requests bring none */
function samplingByLinks(base: Sampler, root: Sampler): Sampler {
  return {
    shouldSample: (context, traceId, name, kind, attributes, links) => {
      if (context === ROOT_CONTEXT && links.length === 0) {
        return root.shouldSample(context, traceId, name, kind, attributes, links);
      }
      const parent = trace.getSpanContext(context);
      if (links.some(isSampled) && !(parent && isSpanContextValid(parent))) {
        return { decision: tracing.SamplingDecision.RECORD_AND_SAMPLED };
      }
      return base.shouldSample(context, traceId, name, kind, attributes, links);
    },
    toString: () => `SampledByLinks{${base.toString()}}`,
  };
}

function isSampled(link: Link): boolean {
  return (link.context.traceFlags & TraceFlags.SAMPLED) !== 0;
}
