export function testFiles(): string[]
export function filesFor(args: readonly string[]): string[]
export function sourcesOf(file: string): string[]
export function reasonItIsSlow(file: string): string | undefined
