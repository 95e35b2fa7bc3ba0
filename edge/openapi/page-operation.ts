import { html } from 'hono/html';
import type { ApiDocument } from './document.js';
import type { MediaTypeObject, OperationObject, Reference, ResponseObject } from './operation-object.js';
import { code, inline, prose, type Markup } from './page-text.js';
import type { JsonSchema } from './schemas.js';

interface Shown {
  readonly path: string;
  readonly method: string;
  readonly operation: OperationObject;
}

/** What one operation does, takes and answers. */
export function operationSection(document: ApiDocument, { path, method, operation }: Shown): Markup {
  const { operationId, summary, description, requestBody } = operation;
  return html`<article id="${operationId}">
    <h3>${summary}</h3>
    <p class="route"><b>${method.toUpperCase()}</b> <code>${path}</code></p>
    ${prose(description)}
    ${operation['x-codeSamples'].map(
      ({ label, source }) =>
        html`<p class="label">${label}</p>
          ${code(source)}`,
    )}
    ${parameterTable(document, operation)} ${requestBody ? bodies('Body', requestBody.content) : ''}
    ${goodAnswers(operation).map(([status, answer]) => answerPart(document, status, answer))}
    ${errorTable(document, operation)}
  </article>`;
}

function parameterTable({ components }: ApiDocument, { parameters }: OperationObject): Markup {
  const rows = parameters.map((reference) => {
    const parameter = components.parameters[nameIn(reference)];
    return html`<tr>
      <th scope="row"><code>${parameter?.name}</code></th>
      <td>${parameter?.in}${parameter?.required ? ', required' : ''}</td>
      <td>
        ${inline(parameter?.description ?? '')} ${boundsOf(parameter?.schema)}<span class="example"
          >${String(parameter?.example)}</span
        >
      </td>
    </tr>`;
  });
  return table('Parameters', ['name', 'where', 'meaning, example'], rows);
}

/** What a number may be. */
function boundsOf({ minimum, maximum }: JsonSchema = {}): string {
  return typeof minimum === 'number' && typeof maximum === 'number' && maximum <= 1000
    ? `From ${minimum} to ${maximum}. `
    : '';
}

function goodAnswers({ responses }: OperationObject): readonly [string, ResponseObject][] {
  return Object.entries(responses).filter(([, { content = {} }]) => !('application/problem+json' in content));
}

function answerPart({ components }: ApiDocument, status: string, answer: ResponseObject): Markup {
  const rows = Object.entries(answer.headers).map(([name, reference]) => {
    const header = components.headers[nameIn(reference)];
    return html`<tr>
      <th scope="row"><code>${name}</code></th>
      <td>${header?.required ? 'always' : 'where it applies'}</td>
      <td>${inline(header?.description ?? '')}</td>
    </tr>`;
  });
  return html`<h4>${status}</h4>
    ${prose(answer.description)} ${bodies('', answer.content ?? {})} ${table('Headers', ['name', '', 'meaning'], rows)}`;
}

function bodies(title: string, content: Readonly<Record<string, MediaTypeObject>>): readonly Markup[] {
  const shown = Object.entries(content).map(([type, { schema, examples = {}, 'x-itemSchema': item }]) => {
    const links = [schema, item].flatMap((one) => schemaLink(one?.['$ref']));
    const values = Object.values(examples).flatMap((example) => ('value' in example ? [example.value] : []));
    return html`<p class="label"><code>${type}</code> ${links}</p>
      ${values.map((value) => code(typeof value === 'string' ? value : JSON.stringify(value, null, 2)))}`;
  });
  return title === '' ? shown : [html`<h4>${title}</h4>`, ...shown];
}

function schemaLink(ref: unknown): readonly Markup[] {
  if (typeof ref !== 'string') return [];
  const name = nameIn({ $ref: ref });
  return [html`<a href="#schema-${name}">${name}</a> `];
}

/** Every code with what the table says of it; those of one status stand together. */
function errorTable({ components }: ApiDocument, { responses }: OperationObject): Markup | string {
  const codes = Object.values(responses).flatMap(({ content }) =>
    Object.keys(content?.['application/problem+json']?.examples ?? {}),
  );
  if (codes.length === 0) return '';
  const rows = codes.map((name) => {
    const problem = components.examples[name]?.value;
    return html`<tr>
      <th scope="row"><code>${name}</code></th>
      <td>${problem?.status}${problem?.retryable ? ', retryable' : ''}</td>
      <td>${problem?.title}</td>
    </tr>`;
  });
  return table('Errors', ['code', 'status', 'meaning'], rows);
}

function table(caption: string, heads: readonly string[], rows: readonly Markup[]): Markup {
  return html`<h4>${caption}</h4>
    <div class="wide">
      <table>
        <thead>
          <tr>
            ${heads.map((head) => html`<th scope="col">${head}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>`;
}

/** The last word of a reference. */
function nameIn({ $ref }: Reference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}
