/** ISO-8601 UTC with milliseconds, the format of every time in the API. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()
