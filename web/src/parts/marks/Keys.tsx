import css from './Keys.module.css'

const NAMES: Readonly<Record<string, string>> = {
  ctrl: /Mac|iP/.test(navigator.userAgent) ? '⌘' : 'Ctrl',
  shift: 'Shift',
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
}

/** Keys as they are written in `useKeys`: `ctrl+k`, `g s`, `Enter`. */
export function Keys({ of }: { readonly of: string }) {
  const parts = of.split(' ').map((step) => step.split('+').map(shown).join(' '))
  return (
    <span className={css.keys}>
      {parts.map((part) => (
        <kbd key={part} className={css.key}>
          {part}
        </kbd>
      ))}
    </span>
  )
}

function shown(key: string, _: number, all: readonly string[]): string {
  return NAMES[key] ?? (all.length > 1 && key.length === 1 ? key.toUpperCase() : key)
}
