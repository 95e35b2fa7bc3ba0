import type { Buffer } from 'node:buffer';
import { doubleFromBits, fieldsOf, type Field } from './protobuf-fields.js';

const kinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
const statuses = ['unset', 'ok', 'error'] as const;

export type AttributeValue = string | number | boolean | readonly AttributeValue[] | undefined;
export type ReceivedAttributes = Readonly<Record<string, AttributeValue>>;

/** A span as it arrived. Ids are lower-case hexadecimal, times nanoseconds since the epoch. */
export interface ReceivedSpan {
  /** service.name of its resource. */
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: (typeof kinds)[number];
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: ReceivedAttributes;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly events: readonly { readonly name: string; readonly attributes: ReceivedAttributes }[];
  readonly status: { readonly code: (typeof statuses)[number]; readonly message: string };
}

/**
 * Reads the spans of an ExportTraceServiceRequest. Field numbers are those of opentelemetry-proto 1.x,
 * trace/v1/trace.proto and common/v1/common.proto.
 * @throws RangeError where the bytes are not protobuf
 */
export function readExportRequest(request: Buffer): ReceivedSpan[] {
  return messages(request, 1).flatMap((resourceSpans) => {
    const [resource] = messages(resourceSpans, 1);
    const service = resource ? attributesIn(resource, 1)['service.name'] : undefined;
    return messages(resourceSpans, 2)
      .flatMap((scopeSpans) => messages(scopeSpans, 2))
      .map((span) => readSpan(span, typeof service === 'string' ? service : ''));
  });
}

function readSpan(span: Buffer, service: string): ReceivedSpan {
  const [status] = messages(span, 15);
  return {
    service,
    traceId: hex(span, 1),
    spanId: hex(span, 2),
    parentSpanId: hex(span, 4),
    name: text(span, 5),
    kind: kinds[Number(bits(span, 6))] ?? 'unspecified',
    startNs: bits(span, 7),
    endNs: bits(span, 8),
    attributes: attributesIn(span, 9),
    events: messages(span, 11).map((event) => ({ name: text(event, 2), attributes: attributesIn(event, 3) })),
    links: messages(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
    status: status
      ? { code: statuses[Number(bits(status, 3))] ?? 'unset', message: text(status, 2) }
      : { code: 'unset', message: '' },
  };
}

function attributesIn(message: Buffer, number: number): ReceivedAttributes {
  return Object.fromEntries(
    messages(message, number).map((pair) => {
      const [value] = messages(pair, 2);
      return [text(pair, 1), value ? readValue(value) : undefined];
    }),
  );
}

/** An AnyValue; a list of pairs, which nobody here sends, reads as undefined. */
function readValue(message: Buffer): AttributeValue {
  for (const field of fieldsOf(message)) {
    if (field.number === 1) return field.bytes?.toString();
    if (field.number === 2) return field.bits === 1n;
    if (field.number === 3 && field.bits !== undefined) return Number(BigInt.asIntN(64, field.bits));
    if (field.number === 4 && field.bits !== undefined) return doubleFromBits(field.bits);
    if (field.number === 5 && field.bytes) return messages(field.bytes, 1).map(readValue);
    if (field.number === 7) return field.bytes?.toString('base64');
  }
  return undefined;
}

function named(message: Buffer, number: number): Field[] {
  return [...fieldsOf(message)].filter((field) => field.number === number);
}

function messages(message: Buffer, number: number): Buffer[] {
  return named(message, number).flatMap((field) => field.bytes ?? []);
}

function text(message: Buffer, number: number): string {
  return messages(message, number).at(-1)?.toString() ?? '';
}

function hex(message: Buffer, number: number): string {
  return messages(message, number).at(-1)?.toString('hex') ?? '';
}

function bits(message: Buffer, number: number): bigint {
  return named(message, number).at(-1)?.bits ?? 0n;
}
