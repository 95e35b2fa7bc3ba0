/** Loads one package in a process that has loaded nothing else, and prints the CPU milliseconds that it took. */
const before = process.cpuUsage();
await import(process.argv[2] ?? '');
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify((user + system) / 1000));
