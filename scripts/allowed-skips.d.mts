export function reasonToSkip(test: { file: string; name: string }, inCi: boolean): string | undefined
