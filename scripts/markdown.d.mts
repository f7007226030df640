export declare function renderMarkdown(text: string, linkOf: (href: string) => string | undefined): string
export declare function headingId(text: string, taken?: Set<string>): string
