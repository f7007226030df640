import { Select, Textarea, TextInput } from '@mantine/core'
import { type KeyboardEvent, useEffect, useState } from 'react'
import { Seg } from '../../../parts/controls/Seg.tsx'
import { Icon } from '../../../parts/marks/icons.tsx'
import { t } from '../messages.ts'
import { integerIn, jsonText, parseExact } from './exact-json.ts'
import css from './SchemaForm.module.css'
import type { Field } from './schema.ts'
import { type FieldProps, useShared } from './shared.ts'

/** Fields with one value. `undefined` means that it is not sent, and the border is dashed. */

const LONG = /body|text|content|description|message|prompt|query|sql/i

function useLook({ name, value, required, path }: FieldProps) {
  const { problems, all } = useShared()
  const isUnset = value === undefined && !required
  const isWrong = (value !== undefined || all) && problems.has(path)
  return {
    'aria-label': name,
    'aria-invalid': isWrong || undefined,
    placeholder: isUnset ? t('notSent') : '',
    'data-unset': isUnset || undefined,
    className: css.field,
    autoComplete: 'off',
    spellCheck: false,
  } as const
}

export function TextField(props: FieldProps) {
  const { value, onChange, name, required } = props
  const look = useLook(props)
  const text = typeof value === 'string' ? value : value === undefined ? '' : jsonText(value)
  const shared = { ...look, value: text, ...(value === '' && !required && { placeholder: t('emptyText') }) }
  if (LONG.test(name) || text.includes('\n'))
    return (
      <Textarea
        {...shared}
        autosize={false}
        rows={2}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    )
  return <TextInput {...shared} onChange={({ currentTarget }) => onChange(currentTarget.value)} />
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Text that is not a number stays as it is, and is refused by the schema. */
export function NumberField(props: FieldProps) {
  const { value, onChange, required } = props
  const look = useLook(props)
  const [draft, setDraft] = useState<string>()
  const shown = draft !== undefined && numberIn(draft, required) === value ? draft : textOf(value)
  return (
    <TextInput
      {...look}
      inputMode="decimal"
      value={shown}
      onChange={({ currentTarget }) => {
        setDraft(currentTarget.value)
        onChange(numberIn(currentTarget.value, required))
      }}
    />
  )
}
const textOf = (value: unknown): string => (value === undefined ? '' : String(value))
const numberIn = (text: string, required: boolean): unknown =>
  text === '' && !required ? undefined : NUMBER.test(text) ? integerIn(text) : text

export function BooleanField({ name, value, onChange, required }: FieldProps) {
  const options = [
    ...(required ? [] : [{ value: 'none', label: t('notSent') }]),
    { value: 'true', label: t('true') },
    { value: 'false', label: t('false') },
  ]
  const state = value === undefined ? (required ? '' : 'none') : String(value)
  return (
    <Seg
      label={name}
      value={state}
      options={options}
      onChange={(next) => onChange(next === 'none' ? undefined : next === 'true')}
    />
  )
}

export function ChoiceField({ values, ...props }: FieldProps & { readonly values: readonly unknown[] }) {
  const { value, onChange, required } = props
  const { autoComplete: _, spellCheck: __, ...look } = useLook(props)
  const options = [...new Set(values.map((each) => jsonText(each)))]
  const data = options.map((json) => ({ value: json, label: json.replace(/^"(.*)"$/, '$1') }))
  return (
    <Select
      {...look}
      data={data}
      clearable={!required}
      value={value === undefined ? null : jsonText(value)}
      onChange={(json) => onChange(json === null ? undefined : JSON.parse(json))}
    />
  )
}

/** A list of short values as chips. Enter adds one. */
export function ChipsField({ item, ...props }: FieldProps & { readonly item: Field }) {
  const { value, onChange, name, required } = props
  const { 'aria-invalid': invalid } = useLook(props)
  const [draft, setDraft] = useState('')
  const list: readonly unknown[] = Array.isArray(value) ? value : []
  const add = () => {
    if (draft === '') return
    onChange([...list, item.kind === 'number' ? numberIn(draft, true) : draft])
    setDraft('')
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey) {
      event.preventDefault()
      add()
    }
    if (event.key === 'Backspace' && draft === '' && list.length > 0) onChange(list.slice(0, -1))
  }
  const isUnset = value === undefined && !required
  return (
    <div className={css.chips} data-unset={isUnset || undefined}>
      {list.map((each, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an item is its place
        <span key={index} className={css.chip}>
          {String(each)}
          <button
            type="button"
            aria-label={t('remove', { name: String(each) })}
            onClick={() => onChange(list.toSpliced(index, 1))}
          >
            <Icon name="close" size={12} />
          </button>
        </span>
      ))}
      <input
        aria-label={name}
        aria-invalid={invalid}
        placeholder={isUnset ? t('notSent') : t('add')}
        value={draft}
        autoComplete="off"
        onChange={({ currentTarget }) => setDraft(currentTarget.value)}
        onKeyDown={onKeyDown}
        onBlur={add}
      />
    </div>
  )
}

/** A schema that cannot be drawn: JSON, for this field only. */
export function JsonField(props: FieldProps) {
  const { value, onChange, path } = props
  const { onBad } = useShared()
  const look = useLook(props)
  const [draft, setDraft] = useState<string>()
  const given = parsed(draft ?? '')
  const isBad = draft !== undefined && draft.trim() !== '' && given === undefined
  const isOwn = draft !== undefined && (isBad || jsonText(given) === jsonText(value))
  useEffect(() => {
    onBad(path, isBad)
    return () => onBad(path, false)
  }, [path, isBad, onBad])
  return (
    <>
      <Textarea
        {...look}
        className={`${css.field} ${css.json}`}
        rows={2}
        value={isOwn ? draft : value === undefined ? '' : jsonText(value)}
        aria-invalid={isBad || look['aria-invalid']}
        onChange={({ currentTarget }) => {
          setDraft(currentTarget.value)
          onChange(parsed(currentTarget.value))
        }}
      />
      {isBad && <p className={css.problem}>{t('badJson')}</p>}
    </>
  )
}

function parsed(text: string): unknown {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}
