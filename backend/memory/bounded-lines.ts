/** Cuts chunks of text into lines. A line of more than `longest` characters is left out, and never kept whole. */
export function boundedLines(longest: number, onLine: (line: string) => void): (chunk: string) => void {
  let begun = '';
  let tooLong = false;
  return (chunk) => {
    const lines = (begun + chunk).split('\n');
    begun = lines.pop() ?? '';
    for (const line of lines) {
      // The first one is the end of a line that was too long.
      if (!tooLong && line.length <= longest) onLine(line.trim());
      tooLong = false;
    }
    if (begun.length <= longest) return;
    begun = '';
    tooLong = true;
  };
}
