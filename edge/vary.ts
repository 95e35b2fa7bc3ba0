/** Says in an answer's headers that it depends on one of the request's. */
export function addVary(headers: Record<string, string>, name: string): void {
  const { vary } = headers;
  headers['vary'] = vary === undefined ? name : `${vary}, ${name}`;
}
