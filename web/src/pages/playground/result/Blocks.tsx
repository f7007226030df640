import { JsonTree } from '../../../parts/content/JsonTree.tsx'
import { IconAct } from '../../../parts/controls/Act.tsx'
import { copy } from '../../../parts/controls/CopyAs.tsx'
import { Tag } from '../../../parts/marks/Tag.tsx'
import { isObject, type Schema } from '../form/schema.ts'
import { t } from '../messages.ts'
import css from './Result.module.css'

/** The content of a result, block by block. Pages of a server are never drawn here, only in their own frame. */
export function Blocks({ content }: { readonly content: readonly unknown[] }) {
  if (content.length === 0) return <p className="muted">{t('noContent')}</p>
  return (
    <>
      {content.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the blocks of a result never change
        <Block key={index} block={isObject(block) ? block : {}} index={index} total={content.length} />
      ))}
    </>
  )
}

interface Props {
  readonly block: Schema
  readonly index: number
  readonly total: number
}

function Block({ block, index, total }: Props) {
  const text = typeof block.text === 'string' ? block.text : undefined
  const json = text === undefined ? undefined : jsonIn(text)
  return (
    <div className={css.block}>
      <div className="row">
        <Tag>{String(block.type)}</Tag>
        <span className="xs muted">
          {t('ofMany', { index: index + 1, total })}
          {json !== undefined && `, ${t('asJson')}`}
        </span>
        {text !== undefined && (
          <span className="right">
            <IconAct size="xs" icon="copy" label={t('copy')} onClick={() => copy(text)} />
          </span>
        )}
      </div>
      <Inside block={block} json={json} />
    </div>
  )
}

function Inside({ block, json }: { readonly block: Schema; readonly json: unknown }) {
  const { type, data, mimeType } = block
  if (json !== undefined) return <JsonTree value={json} />
  if (type === 'text') return <pre className={css.text}>{String(block.text)}</pre>
  if (type === 'image' && typeof data === 'string')
    return <img className={css.image} alt={t('image')} src={`data:${imageType(mimeType)};base64,${data}`} />
  if (type === 'audio' && typeof data === 'string')
    // biome-ignore lint/a11y/useMediaCaption: a server sends none
    return <audio controls className={css.image} src={`data:${audioType(mimeType)};base64,${data}`} />
  if (type === 'resource_link') return <ResourceLink block={block} />
  const resource = isObject(block.resource) ? block.resource : undefined
  if (typeof resource?.text === 'string') return <pre className={css.text}>{resource.text}</pre>
  return <JsonTree value={block} />
}

/** An SVG may contain a script; as an image it does not run. */
const imageType = (type: unknown): string => known(type, /^image\/[\w.+-]{1,60}$/, 'image/png')
const audioType = (type: unknown): string => known(type, /^audio\/[\w.+-]{1,60}$/, 'audio/wav')
const known = (type: unknown, pattern: RegExp, otherwise: string): string =>
  typeof type === 'string' && pattern.test(type) ? type : otherwise

function ResourceLink({ block }: { readonly block: Schema }) {
  const uri = String(block.uri)
  return (
    <div className={css.link}>
      <span className="cut">{typeof block.name === 'string' ? block.name : uri}</span>
      {/^https?:\/\//.test(uri) ? (
        <a className="right" href={uri} target="_blank" rel="noreferrer noopener">
          {t('open')}
        </a>
      ) : (
        <span className="right mono muted cut">{uri}</span>
      )}
    </div>
  )
}

/** Objects and lists only: a text that happens to be `12` stays a text. */
function jsonIn(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
