import { Select } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { t } from '../messages.ts'
import css from './SchemaForm.module.css'
import { type Field, fieldOf, isObject, type Schema } from './schema.ts'
import type { FieldProps } from './shared.ts'
import { findingsIn } from './validate.ts'

interface Props extends FieldProps {
  readonly variants: readonly Schema[]
  /** Draws the fields of the chosen kind. */
  readonly children: (inner: Field) => ReactNode
}

/** One of several objects: the kind is chosen first. What a kind fixes is set at once. */
export function VariantField({ variants, children, ...props }: Props) {
  const { name, value, onChange, field, required } = props
  const [chosen, setChosen] = useState<number>()
  const matching = variants.findIndex((variant) => findingsIn(variant, value).problems.size === 0)
  const isUntouched = value === undefined || (isObject(value) && Object.keys(value).length === 0)
  const index = chosen ?? (isUntouched || matching < 0 ? undefined : matching)
  const variant = index === undefined ? undefined : variants[index]
  const label = t('variant', { name: name || t('arguments') })
  return (
    <div className={css.stack}>
      <Select
        aria-label={label}
        placeholder={required ? label : t('notSent')}
        data={variants.map((each, at) => ({ value: String(at), label: titleOf(each, at) }))}
        clearable={!required}
        value={value === undefined || index === undefined ? null : String(index)}
        onChange={(next) => {
          const at = next === null ? undefined : Number(next)
          setChosen(at)
          onChange(at === undefined ? undefined : fixedBy(variants[at]))
        }}
      />
      {variant && value !== undefined && children(fieldOf({ ...variant }, rootOf(field.schema, variant)))}
    </div>
  )
}

const rootOf = (outer: Schema, variant: Schema): Schema => ({
  ...variant,
  ...(isObject(outer.$defs) && { $defs: outer.$defs }),
})

function titleOf({ title, properties }: Schema, index: number): string {
  if (typeof title === 'string') return title
  const fixed = Object.values(isObject(properties) ? properties : {}).find(
    (each) => isObject(each) && 'const' in each,
  )
  if (isObject(fixed)) return String(fixed.const)
  const names = Object.keys(isObject(properties) ? properties : {})
  return names.length > 0 ? names.join(', ') : t('variantOf', { number: index + 1 })
}

function fixedBy(variant: Schema | undefined): Record<string, unknown> {
  const properties = isObject(variant?.properties) ? variant.properties : {}
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, each]) =>
      isObject(each) && 'const' in each ? [[name, each.const]] : [],
    ),
  )
}
