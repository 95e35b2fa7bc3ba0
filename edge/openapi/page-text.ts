import { html } from 'hono/html';

export type Markup = ReturnType<typeof html>;

/** Paragraphs of plain text, in which `backticks` mark code. */
export function prose(text: string): readonly Markup[] {
  return text.split('\n\n').map((paragraph) => html`<p>${inline(paragraph)}</p>`);
}

export function inline(text: string): readonly (Markup | string)[] {
  return text.split('`').map((part, i) => (i % 2 === 0 ? part : html`<code>${part}</code>`));
}

/** Text to copy, as it is: nothing of it may be indented by whoever formats this file. */
export function code(text: string): Markup {
  // prettier-ignore
  return html`<pre><code>${text}</code></pre>`;
}
