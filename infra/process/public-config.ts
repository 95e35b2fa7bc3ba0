interface WithRedisUrls {
  readonly redisUrl: string;
  readonly cacheRedisUrl: string;
  readonly jwtSecret?: string | undefined;
  readonly jwt?: { readonly jwksUrl?: string | undefined };
}

/** A configuration as it may be printed: URLs without credentials, no secrets. */
export function publicConfig<Config extends WithRedisUrls>(config: Config): Config {
  return {
    ...config,
    redisUrl: withoutCredentials(config.redisUrl),
    cacheRedisUrl: withoutCredentials(config.cacheRedisUrl),
    ...(config.jwt?.jwksUrl === undefined
      ? {}
      : { jwt: { ...config.jwt, jwksUrl: withoutCredentials(config.jwt.jwksUrl) } }),
    ...(config.jwtSecret === undefined ? {} : { jwtSecret: '(secret)' }),
  };
}

function withoutCredentials(url: string): string {
  if (!URL.canParse(url)) return '(not a URL)';
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
