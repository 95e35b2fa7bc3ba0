import { html, raw } from 'hono/html';
import type { ApiDocument } from './document.js';
import { operationSection } from './page-operation.js';
import { pageStyle } from './page-style.js';
import { code, prose, type Markup } from './page-text.js';
import { problemName } from './problem-schemas.js';
import { quickStart } from './quick-start.js';

/**
 * The document for people, as one page: whatever is put into it is escaped, and it needs nothing from elsewhere.
 * @returns the page, in which `$BASE` stands for the address of the edge, and its style, of which a policy names the hash
 */
export async function renderPage(document: ApiDocument): Promise<{ readonly page: string; readonly style: string }> {
  return { page: (await pageOf(document)).toString(), style: pageStyle };
}

function pageOf(document: ApiDocument): Markup {
  const { info } = document;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${info.title} API</title>
        ${raw(`<style>${pageStyle}</style>`)}
      </head>
      <body>
        <header>
          <h1>${info.title}</h1>
          ${prose(info.description)}
          <p>For programs: <a href="/openapi.json">/openapi.json</a> (OpenAPI ${document.openapi}).</p>
        </header>
        ${navigation(document)}
        <main>${quickStart()} ${document.tags.map((tag) => tagSection(document, tag))} ${schemas(document)}</main>
      </body>
    </html>`;
}

function navigation(document: ApiDocument): Markup {
  const links = operationsOf(document).map(
    ({ path, method, operation }) =>
      html`<li>
        <a href="#${operation.operationId}"><b>${method.toUpperCase()}</b> ${path}</a>
      </li>`,
  );
  return html`<nav aria-label="Contents">
    <ul>
      <li><a href="#start">Quick start</a></li>
      ${links}
      <li><a href="#schemas">Schemas</a></li>
    </ul>
  </nav>`;
}

function tagSection(document: ApiDocument, { name, description }: ApiDocument['tags'][number]): Markup {
  const own = operationsOf(document).filter(({ operation }) => operation.tags.includes(name));
  return html`<section>
    <h2>${name}</h2>
    ${prose(description)} ${own.map((one) => operationSection(document, one))}
  </section>`;
}

function schemas({ components }: ApiDocument): Markup {
  // Those of problems differ in their constants alone.
  const own = Object.entries(components.schemas).filter(([name]) => !name.startsWith(problemName('')));
  const shown = own.map(
    ([name, schema]) =>
      html`<details id="schema-${name}">
        <summary>${name}</summary>
        ${code(JSON.stringify(schema, null, 2))}
      </details>`,
  );
  return html`<section id="schemas">
    <h2>Schemas</h2>
    <p>JSON Schema, draft 2020-12. Those of the single problems stand in <a href="/openapi.json">/openapi.json</a>.</p>
    ${shown}
  </section>`;
}

function operationsOf({ paths }: ApiDocument) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}
