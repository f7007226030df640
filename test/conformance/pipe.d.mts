export function startPipe(options?: {
  readonly command?: readonly string[]
  readonly port?: number
}): Promise<{ readonly url: string; readonly close: () => Promise<void> }>
