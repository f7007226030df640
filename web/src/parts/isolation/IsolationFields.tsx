import { NumberInput, Radio, TextInput } from '@mantine/core'
import { useShort } from '../../data/live/home-folder.ts'
import {
  type Confinement,
  type IsolationOptions,
  placeProblem,
  usePlaces,
} from '../../data/server/isolation.ts'
import { Seg } from '../controls/Seg.tsx'
import { Glyph } from '../marks/Glyph.tsx'
import css from './Isolation.module.css'
import { t } from './messages.ts'
import { PathsField } from './PathsField.tsx'

const KINDS = ['none', 'sandbox', 'container'] as const

interface Props {
  readonly confinement: Confinement
  /** A server of an installed package cannot run in a container. */
  readonly isPackage?: boolean
  /** The command is `docker run` or `podman run`, which names an image. */
  readonly namesImage?: boolean
  /** Without `none`, for an isolation that is tried. */
  readonly onlyIsolated?: boolean
  readonly disabled?: boolean
  readonly onChange: (confinement: Confinement) => void
}

/** Where a server runs, and what is open there. Only what applies is shown. */
export function IsolationFields({ confinement, onChange, ...rest }: Props) {
  const { isPackage = false, namesImage = false, onlyIsolated = false, disabled = false } = rest
  const { isolation, isolation_options } = confinement
  const set = (change: Partial<IsolationOptions>) =>
    onChange({ ...confinement, isolation_options: { ...isolation_options, ...change } })
  const { data: places } = usePlaces()
  const short = useShort()
  const why = (kind: (typeof KINDS)[number]) =>
    kind === 'container' && isPackage ? t('ofPackage') : placeProblem(places, kind)
  return (
    <div className={css.confinement}>
      <Radio.Group
        aria-label={t('isolation')}
        value={isolation}
        onChange={(value) =>
          onChange({ ...confinement, isolation: KINDS.find((kind) => kind === value) ?? isolation })
        }
      >
        <div className={css.kinds}>
          {KINDS.filter((kind) => kind !== 'none' || !onlyIsolated).map((kind) => (
            <Radio
              key={kind}
              value={kind}
              classNames={{ description: css.note }}
              label={<b className="strong">{t(kind)}</b>}
              description={
                <>
                  {t(`${kind}Text`)}
                  {why(kind) !== undefined && (
                    <span className={`${css.why} ${kind === isolation ? 'warn' : ''}`}>
                      <Glyph name="look" size={10} />
                      <span>{short(why(kind) ?? '')}</span>
                    </span>
                  )}
                </>
              }
              disabled={disabled || (why(kind) !== undefined && isolation !== kind)}
              data-field={kind === isolation ? 'isolation' : undefined}
            />
          ))}
        </div>
      </Radio.Group>
      {isolation !== 'none' && (
        <Grants
          isolation={isolation}
          options={isolation_options}
          namesImage={namesImage}
          disabled={disabled}
          onChange={set}
        />
      )}
    </div>
  )
}

interface GrantsProps {
  readonly isolation: 'sandbox' | 'container'
  readonly options: IsolationOptions
  readonly namesImage: boolean
  readonly disabled: boolean
  readonly onChange: (change: Partial<IsolationOptions>) => void
}

function Grants({ isolation, options, namesImage, disabled, onChange }: GrantsProps) {
  const { image, write, read, network } = options
  const limit = (name: 'memory_mb' | 'pids', label: string, min: number, max: number) => (
    <NumberInput
      label={label}
      hideControls
      allowDecimal={false}
      allowNegative={false}
      min={min}
      max={max}
      disabled={disabled}
      value={options[name]}
      onChange={(value) => typeof value === 'number' && onChange({ [name]: value })}
    />
  )
  return (
    <div className={css.grants}>
      <PathsField
        label={t('write')}
        description={t('writeText')}
        paths={write}
        disabled={disabled}
        onChange={(paths) => onChange({ write: paths })}
      />
      <PathsField
        label={t('read')}
        paths={read}
        disabled={disabled}
        onChange={(paths) => onChange({ read: paths })}
      />
      <div className={css.network}>
        <span className={css.label} aria-hidden="true">
          {t('network')}
        </span>
        <Seg
          label={t('network')}
          value={network}
          options={[
            { value: 'none', label: t('networkNone') },
            { value: 'full', label: t('networkFull') },
          ]}
          onChange={(value) => onChange({ network: value })}
        />
      </div>
      {isolation === 'container' && (
        <div className={css.limits}>
          <TextInput
            className={css.mono ?? ''}
            label={t('image')}
            placeholder={namesImage ? t('ownImage') : 'node:22-slim'}
            disabled={disabled}
            spellCheck={false}
            value={image ?? ''}
            onChange={({ currentTarget: { value } }) =>
              onChange({ image: value.trim() === '' ? null : value.trim() })
            }
          />
          {limit('memory_mb', t('memory'), 16, 1_048_576)}
          {limit('pids', t('pids'), 1, 32_768)}
        </div>
      )}
    </div>
  )
}
