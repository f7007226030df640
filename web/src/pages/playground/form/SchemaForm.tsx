import { Act, IconAct } from '../../../parts/controls/Act.tsx'
import { Seg } from '../../../parts/controls/Seg.tsx'
import { t } from '../messages.ts'
import { BooleanField, ChipsField, ChoiceField, JsonField, NumberField, TextField } from './fields.tsx'
import css from './SchemaForm.module.css'
import type { Field, Property } from './schema.ts'
import { type FieldProps, type FormContext, SharedContext, useShared } from './shared.ts'
import { VariantField } from './VariantField.tsx'

interface FormProps extends FormContext {
  readonly field: Field
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}

/**
 * A form for a JSON Schema. A field is in one of three states: not sent (`undefined`), null, or a value. Nothing is sent
 * that the user has not touched.
 */
export function SchemaForm({ field, value, onChange, ...shared }: FormProps) {
  return (
    <SharedContext.Provider value={shared}>
      <Inside field={field} name="" path="#" value={value} onChange={onChange} required />
    </SharedContext.Provider>
  )
}

/** One property: its name, its field, its type, and what is wrong with it. */
function Line({
  property,
  ...rest
}: Omit<FieldProps, 'field' | 'name' | 'required'> & { readonly property: Property }) {
  const { field, name, required } = property
  const { problems, all } = useShared()
  const isSent = rest.value !== undefined
  const problem = isSent || all ? problems.get(rest.path) : undefined
  const isWide = ['object', 'list', 'variant'].includes(field.kind) && !isChips(field)
  return (
    <div className={css.line} data-wide={(isWide && isSent) || undefined}>
      <span className={css.name} title={field.description}>
        {name}
        {required && <span className="err"> *</span>}
      </span>
      <div className={css.control}>
        <Inside {...rest} field={field} name={name} required={required} />
        {problem && <p className={css.problem}>{problem}</p>}
      </div>
      <span className={css.type}>
        {!isSent && !required ? t('optional') : field.type}
        {isSent && !required && !field.nullable && field.kind !== 'boolean' && (
          <IconAct
            size="xs"
            icon="close"
            label={t('notSentAction', { name })}
            onClick={() => rest.onChange(undefined)}
          />
        )}
      </span>
    </div>
  )
}

const SIMPLE: readonly Field['kind'][] = ['text', 'number']
const isChips = (field: Field): boolean => field.kind === 'list' && SIMPLE.includes(field.item().kind)

/** The control for a field, without its name. */
function Inside(props: FieldProps) {
  const { field } = props
  if (field.nullable) return <Nullable {...props} />
  switch (field.kind) {
    case 'text':
      return <TextField {...props} />
    case 'number':
      return <NumberField {...props} />
    case 'boolean':
      return <BooleanField {...props} />
    case 'choice':
      return <ChoiceField {...props} values={field.values} />
    case 'list':
      return isChips(field) ? (
        <ChipsField {...props} item={field.item()} />
      ) : (
        <Items {...props} item={field.item()} />
      )
    case 'object':
      return <Properties {...props} properties={field.properties()} />
    case 'variant':
      return (
        <VariantField {...props} variants={field.variants}>
          {(inner) => <Inside {...props} field={inner} required />}
        </VariantField>
      )
    case 'json':
      return <JsonField {...props} />
  }
}

function Nullable(props: FieldProps) {
  const { field, value, onChange, required, name } = props
  const state = value === undefined ? 'none' : value === null ? 'null' : 'value'
  const inner = { ...field, nullable: false }
  const options = [
    ...(required ? [] : [{ value: 'none', label: t('notSent') }]),
    { value: 'null', label: t('null') },
    { value: 'value', label: t('value') },
  ]
  const choose = (next: string) =>
    onChange(next === 'none' ? undefined : next === 'null' ? null : startOf(inner))
  return (
    <div className={css.stack}>
      <Seg label={t('state', { name })} value={state} options={options} onChange={choose} />
      {state === 'value' && <Inside {...props} field={inner} required />}
    </div>
  )
}

/** What a field has when it is set. */
function startOf(field: Field): unknown {
  if (field.kind === 'text') return ''
  if (field.kind === 'list') return []
  if (field.kind === 'object' || field.kind === 'variant') return {}
  if (field.kind === 'choice') return field.values[0]
  if (field.kind === 'boolean') return true
  return field.kind === 'number' ? 0 : {}
}

/** Deeper objects are drawn when they are set: a schema may require itself without end. */
const MOST_LEVELS = 8

function Properties({ properties, ...props }: FieldProps & { readonly properties: readonly Property[] }) {
  const { value, onChange, path, required, name } = props
  const isDrawn = required && path.split('/').length <= MOST_LEVELS
  if (value === undefined && !isDrawn) return <NotSet name={name} onSet={() => onChange({})} />
  const object = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  const set = (changed: string, next: unknown) =>
    onChange(ordered(properties, { ...object, [changed]: next }))
  return (
    <div className={path === '#' ? css.form : css.nested}>
      {properties.map((property) => (
        <Line
          key={property.name}
          property={property}
          path={`${path}/${property.name.replaceAll('~', '~0').replaceAll('/', '~1')}`}
          value={object[property.name]}
          onChange={(next) => set(property.name, next)}
        />
      ))}
    </div>
  )
}

/** In the order of the schema, then what the schema does not name. */
function ordered(properties: readonly Property[], object: Record<string, unknown>): Record<string, unknown> {
  const names = new Set([...properties.map(({ name }) => name), ...Object.keys(object)])
  return Object.fromEntries(
    [...names].flatMap((name) => (object[name] === undefined ? [] : [[name, object[name]]])),
  )
}

function Items({ item, ...props }: FieldProps & { readonly item: Field }) {
  const { value, onChange, path, required, name } = props
  if (value === undefined && !required) return <NotSet name={name} onSet={() => onChange([])} />
  const list = Array.isArray(value) ? value : []
  return (
    <div className={css.stack}>
      {list.map((each, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an item is its place
        <div key={index} className={css.item}>
          <Inside
            field={item}
            name={`${name} ${index + 1}`}
            path={`${path}/${index}`}
            required
            value={each}
            onChange={(next) => onChange(list.with(index, next ?? startOf(item)))}
          />
          <IconAct
            size="xs"
            icon="close"
            label={t('removeItem', { number: index + 1 })}
            onClick={() => onChange(list.toSpliced(index, 1))}
          />
        </div>
      ))}
      <Act size="xs" icon="plus" onClick={() => onChange([...list, startOf(item)])}>
        {t('addItem')}
      </Act>
    </div>
  )
}

function NotSet({ name, onSet }: { readonly name: string; readonly onSet: () => void }) {
  return (
    <div className={css.unset}>
      <span>{t('notSent')}</span>
      <button type="button" className={css.set} aria-label={`${t('set')} ${name}`} onClick={onSet}>
        {t('set')}
      </button>
    </div>
  )
}
