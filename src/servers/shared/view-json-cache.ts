/**
 * The JSON of each record's view, made again only when one of the values it is made from has changed. A list of 100
 * servers is requested every second or two by each open dashboard.
 */
export class ViewTexts<R extends object> {
  readonly #texts = new WeakMap<R, { readonly values: readonly unknown[]; readonly text: string }>()

  /** `view` makes the view from the record and `shown` alone. Members are compared by identity, and lists by their items. */
  textOf<S extends object>(record: R, shown: S, view: (shown: S) => object): string {
    const known = this.#texts.get(record)
    const values: readonly unknown[] = Object.values(shown)
    if (known && areSame(known.values, values, isSameMember)) return known.text
    const text = JSON.stringify(view(shown))
    this.#texts.set(record, { values, text })
    return text
  }
}

const isSameMember = (one: unknown, other: unknown): boolean =>
  one === other || (Array.isArray(one) && Array.isArray(other) && areSame(one, other, Object.is))

const areSame = (
  before: readonly unknown[],
  after: readonly unknown[],
  isSame: (one: unknown, other: unknown) => boolean,
): boolean => before.length === after.length && before.every((value, index) => isSame(value, after[index]))

/** A whole list as JSON, from the JSON of its items. */
export const listText = (items: readonly string[]): string =>
  `{"items":[${items.join(',')}],"total":${items.length},"next_cursor":null}`
