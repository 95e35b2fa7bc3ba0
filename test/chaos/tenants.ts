import { randomBytes } from 'node:crypto';
import { SignJWT } from 'jose';

/** The edges believe tokens that are signed with this; Redis, which may lose everything, keeps nothing of them. */
export const tokenSecret = randomBytes(32).toString('hex');

export const tenants = ['one', 'other'] as const;
export type Tenant = (typeof tenants)[number];

/** A token for each tenant, for longer than any run, and than clocks are off. */
export async function tokensOf(secret: string): Promise<Readonly<Record<Tenant, string>>> {
  const sign = (tenant: Tenant) =>
    new SignJWT({ tenant, scope: 'predict tasks' })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject('chaos')
      .setExpirationTime('6h')
      .sign(new TextEncoder().encode(secret));
  return { one: await sign('one'), other: await sign('other') };
}
