/**
 * What every answer tells browsers: not to guess its type, not to show it as a page that loads or frames anything, not to
 * tell others where a link was followed from, and to keep it to the pages of this origin. What may hold a prediction is
 * not stored unless the answer says for how long. One by one, since a loop would cost more than the rest.
 */
export function addSecureHeaders(headers: Record<string, string>): void {
  headers['x-content-type-options'] = 'nosniff';
  headers['content-security-policy'] ??= "default-src 'none'; frame-ancestors 'none'";
  headers['referrer-policy'] = 'no-referrer';
  headers['cross-origin-resource-policy'] = 'same-origin';
  headers['cache-control'] ??= 'no-store';
}
