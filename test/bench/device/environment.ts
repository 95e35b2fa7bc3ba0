/** Names of what a GPU's runtime looks for, and of what sizes the parts; a process that is started gets these alone. */
const passed =
  /^(SAMPAN_(DEVICE|DEVICE_INDEX|THREADS)|UV_THREADPOOL_SIZE|HOME|LD_LIBRARY_PATH|XDG_.*|(CUDA|NVIDIA|VK|DRI)_.*)$/;

/** The part of an environment that reaches the device. */
export function deviceEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const set = Object.entries(environment).flatMap(([name, value]) =>
    passed.test(name) && value !== undefined && value !== '' ? [[name, value] as const] : [],
  );
  return Object.fromEntries(set);
}
