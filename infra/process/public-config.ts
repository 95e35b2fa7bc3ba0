interface WithRedisUrls {
  readonly redisUrl: string;
  readonly cacheRedisUrl: string;
}

/** A configuration as it may be printed: URLs without credentials. */
export function publicConfig<Config extends WithRedisUrls>(config: Config): Config {
  return {
    ...config,
    redisUrl: withoutCredentials(config.redisUrl),
    cacheRedisUrl: withoutCredentials(config.cacheRedisUrl),
  };
}

function withoutCredentials(url: string): string {
  if (!URL.canParse(url)) return '(not a URL)';
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
