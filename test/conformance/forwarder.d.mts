export function startForwarder(
  targetUrl: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }>
