/** What a caller would like, of the preferences of RFC 7240 that are known here. */
export interface Preferences {
  readonly respondAsync: boolean;
  /** Seconds. */
  readonly wait: number | undefined;
}

const nothing: Preferences = { respondAsync: false, wait: undefined };

/** Reads the header `Prefer`. What is not known, or makes no sense, is passed over, as the RFC has it. */
export function preferencesFrom(header: string | undefined): Preferences {
  if (header === undefined) return nothing;
  const given = header.split(',').map((preference) => (preference.split(';')[0] ?? '').trim());
  const wait = given.map((preference) => /^wait\s*=\s*"?(\d{1,6})"?$/i.exec(preference)?.[1]).find(Boolean);
  return {
    respondAsync: given.some((preference) => /^respond-async$/i.test(preference)),
    wait: wait === undefined ? undefined : Number(wait),
  };
}
