export declare function buildWeb(outDir: string, mode?: string): Promise<string[]>
