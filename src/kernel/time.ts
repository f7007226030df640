/** As every time leaves the service: ISO-8601 UTC with milliseconds. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()
