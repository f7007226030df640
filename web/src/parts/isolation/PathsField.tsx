import { Textarea } from '@mantine/core'
import { useState } from 'react'
import css from './Isolation.module.css'
import { notPaths } from './isolation.ts'
import { t } from './messages.ts'

interface Props {
  readonly label: string
  readonly description?: string
  readonly paths: readonly string[]
  readonly disabled?: boolean
  readonly onChange: (paths: string[]) => void
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

/** Files and folders, one per line. An empty line is none, and stays while the next path is typed. */
export function PathsField({ label, description, paths, disabled = false, onChange }: Props) {
  const [text, setText] = useState(paths.join('\n'))
  const shown = linesOf(text).join('\n') === paths.join('\n') ? text : paths.join('\n')
  const [wrong] = notPaths(paths)
  return (
    <Textarea
      className={css.mono ?? ''}
      label={label}
      description={description}
      inputWrapperOrder={['label', 'input', 'error', 'description']}
      autosize
      minRows={1}
      maxRows={8}
      spellCheck={false}
      disabled={disabled}
      value={shown}
      error={wrong === undefined ? undefined : t('notPath', { path: wrong })}
      onChange={({ currentTarget: { value } }) => {
        setText(value)
        onChange(linesOf(value))
      }}
    />
  )
}
