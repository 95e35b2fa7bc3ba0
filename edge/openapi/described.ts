import { createHash } from 'node:crypto';
import { createDocument } from './document.js';
import { renderPage } from './page.js';

/** The edge's description in both forms, as it is answered. */
export interface Described {
  /** The document, in JSON. */
  readonly text: string;
  /** Weak: it stands for the compressed form, too. */
  readonly etag: string;
  /** The page, where `$BASE` stands for the address of the edge. */
  readonly page: string;
  /** Hash of the page's one style, in base64. */
  readonly styleHash: string;
}

let made: Promise<Described> | undefined;

/** Made when somebody asks for the first time, and then kept. */
export function described(): Promise<Described> {
  made ??= describe();
  return made;
}

async function describe(): Promise<Described> {
  const document = createDocument();
  const text = JSON.stringify(document);
  const { page, style } = await renderPage(document);
  return { text, etag: `W/"${sha256(text)}"`, page, styleHash: sha256(style) };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
