import { useCallback, useMemo, useState } from 'react'
import { jsonText, parseExact } from './form/exact-json.ts'
import { fieldOf, isObject, type Schema } from './form/schema.ts'
import { findingsIn } from './form/validate.ts'
import { t } from './messages.ts'

/** What will be sent, as the form has it or as it was typed. The JSON of the other view follows. */
export function useDraft(schema: Schema) {
  const [value, setValue] = useState<unknown>({})
  const [typed, setTyped] = useState<string>()
  const [bad, setBad] = useState<ReadonlySet<string>>(new Set())
  const field = useMemo(() => fieldOf(schema, schema), [schema])
  const text = typed ?? jsonText(value ?? {})
  const parsed = useMemo(() => objectIn(text), [text])
  const findings = useMemo(() => findingsIn(schema, value ?? {}), [schema, value])
  const onBad = useCallback((path: string, isBad: boolean) => {
    setBad((before) => {
      if (before.has(path) === isBad) return before
      const after = new Set(before)
      if (isBad) after.add(path)
      else after.delete(path)
      return after
    })
  }, [])
  return {
    field,
    value,
    text,
    ...findings,
    onBad,
    bad: bad.size,
    /** Why the JSON cannot be sent. */
    refusal: parsed === undefined ? (isJson(text) ? t('notObject') : t('badJson')) : undefined,
    set: (next: unknown) => {
      setTyped(undefined)
      setValue(next)
    },
    type: (next: string) => {
      setTyped(next)
      const object = objectIn(next)
      if (object) setValue(object)
    },
  }
}

function objectIn(text: string): Schema | undefined {
  try {
    const value = parseExact(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
