import type { TrialCall } from '../../../data/server/isolation.ts'
import type { Tool } from '../../../data/server/server-changes.ts'

/** A call as it is typed. */
export interface DraftCall {
  readonly key: number
  readonly tool: string
  readonly text: string
}

/** The arguments of a call, or undefined if they are no JSON object. */
export function argumentsOf(text: string): TrialCall['arguments'] | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as TrialCall['arguments'])
      : undefined
  } catch {
    return undefined
  }
}

/** The calls that can be made, or undefined while one of them is not finished. */
export function finished(drafts: readonly DraftCall[]): readonly TrialCall[] | undefined {
  const calls = drafts.flatMap(({ tool, text }) => {
    const args = argumentsOf(text)
    return tool === '' || args === undefined ? [] : [{ tool, arguments: args }]
  })
  return calls.length === drafts.length ? calls : undefined
}

/** The arguments that a tool requires, to be filled in. */
export function emptyArguments({ input_schema: schema }: Pick<Tool, 'input_schema'>): string {
  const { required, properties } = schema as { required?: unknown; properties?: unknown }
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
  const types = (properties ?? {}) as Readonly<Record<string, { readonly type?: unknown } | undefined>>
  return JSON.stringify(
    Object.fromEntries(names.map((name) => [name, EMPTY[String(types[name]?.type)] ?? ''])),
  )
}

const EMPTY: Readonly<Record<string, unknown>> = {
  number: 0,
  integer: 0,
  boolean: false,
  array: [],
  object: {},
}
