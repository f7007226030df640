import * as Type from 'typebox'
import { LEVELS, SOURCES, STREAMS } from '../../kernel/log.ts'
import { component, ID_PATTERN, listOf, orNull, pageQuery, Timestamp } from '../../kernel/rest-parts.ts'
import {
  anyObject,
  boolean,
  integer,
  objects,
  partial,
  text,
  textOrNull,
} from '../../kernel/schema-fields.ts'
import { Instant, stepField } from '../time-range.ts'

export const LABEL = '^[^\\u0000-\\u001f\\u007f]{1,256}$'

/** Filters for reading, downloading and clearing. */
export const LogFilters = partial({
  level: Type.Enum(LEVELS, { description: 'This level and all more severe ones' }),
  source: Type.Array(Type.Enum(SOURCES), { maxItems: SOURCES.length }),
  stream: Type.Array(Type.Enum(STREAMS), { maxItems: STREAMS.length }),
  server_id: Type.Array(Type.String({ pattern: ID_PATTERN }), {
    maxItems: 50,
    description: 'May be repeated',
  }),
  agent_type: Type.String({ pattern: ID_PATTERN }),
  tool: Type.String({ pattern: LABEL }),
  request_id: Type.String({ pattern: LABEL }),
  search: text('Text in the message, ignoring case', { minLength: 1, maxLength: 256 }),
  since: Instant,
  until: Instant,
})
export type LogFilters = Type.Static<typeof LogFilters>

export const LogQuery = partial({
  ...LogFilters.properties,
  order: Type.Enum(['desc', 'asc'], { default: 'desc', description: 'By id' }),
  ...pageQuery(),
  around: integer('The id of a line: returns it with the lines before and after it, half of `limit` each', {
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    examples: [4711],
  }),
})
export type LogQuery = Type.Static<typeof LogQuery>

const FORMATS = ['ndjson', 'text', 'csv'] as const
export type Format = (typeof FORMATS)[number]

export const DownloadQuery = partial({
  ...LogFilters.properties,
  order: Type.Enum(['asc', 'desc'], { default: 'asc', description: 'By id' }),
  format: Type.Enum(FORMATS, { default: 'ndjson' }),
})
export type DownloadQuery = Type.Static<typeof DownloadQuery>

export const HistogramQuery = partial({
  ...LogFilters.properties,
  step: stepField('at most 120 points'),
})
export type HistogramQuery = Type.Static<typeof HistogramQuery>

export const LogLine = Type.Object({
  id: Type.Integer({ examples: [4711] }),
  ts: Timestamp,
  level: Type.Enum(LEVELS),
  source: Type.Enum(SOURCES),
  stream: orNull(Type.Enum(STREAMS)),
  server_id: orNull(Type.String()),
  agent_type: orNull(Type.String()),
  tool: orNull(Type.String()),
  request_id: orNull(Type.String()),
  message: Type.String({ examples: ['server added'] }),
  data: orNull(anyObject()),
  repeat: integer('How many consecutive identical lines this line stands for', { minimum: 1 }),
  truncated: boolean('The line was longer than 64 KiB, so its end was cut'),
})
export type LogLine = Type.Static<typeof LogLine>
component({ LogLine }, 'One line of the log')

export const LogPage = Type.Object({
  ...listOf(LogLine).properties,
  prev_cursor: Type.Optional(
    textOrNull('With `around`: the cursor of the lines before the first one, for the opposite `order`'),
  ),
})
export type LogPage = Type.Static<typeof LogPage>
component({ LogPage }, 'Lines of the log')

const Lines = Type.Integer({ minimum: 0, examples: [12] })
export const Histogram = Type.Object({
  since: Timestamp,
  until: Timestamp,
  step_s: Type.Integer({ minimum: 1, examples: [60] }),
  total: Lines,
  folded: integer('How many further identical lines the counted ones stand for (the sum of `repeat` - 1)', {
    minimum: 0,
    examples: [37],
  }),
  complete: boolean(
    'False: there are lines before `since` that were not counted, because there are too many',
  ),
  points: objects({
    ts: Timestamp,
    total: Lines,
    trace: Lines,
    debug: Lines,
    info: Lines,
    warn: Lines,
    error: Lines,
    fatal: Lines,
  }),
})
export type Histogram = Type.Static<typeof Histogram>
component({ LogHistogram: Histogram }, 'How many lines each step has, by level')

export const Cleared = Type.Object({ deleted: Type.Integer({ minimum: 0 }) })
component({ ClearedLogs: Cleared }, 'How many lines were deleted')
