/** What progress.mjs offers; it is plain JavaScript because the first steps come before the build. */
export interface Terminal {
  /** Runs one step and shows that it goes on. */
  step<T>(name: string, work: (say: (detail: string) => void) => T | Promise<T>): Promise<T>;
  /** Ends the step that is under way, if one is, and shows no more of them. */
  hush(failed: boolean): void;
  bold(text: string): string;
  dim(text: string): string;
}
