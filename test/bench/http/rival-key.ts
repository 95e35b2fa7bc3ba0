/** Where rivals find the answer of an image, by its MD5: its bytes and nothing else. */
export const rivalKey = (md5: string): string => `rival:${md5}`;
