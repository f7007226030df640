export declare function guidePages(): Map<string, string>
export declare function buildDocs(outDir: string): void
