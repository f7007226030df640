/**
 * The JSON of each record's view, made again only when one of the values it shows has changed. A list of 100 servers is
 * requested every second or two by each open dashboard.
 */
export class ViewTexts<R extends object> {
  readonly #texts = new WeakMap<R, { readonly shown: readonly unknown[]; readonly text: string }>()

  /** `shown`: the values that the view is made from, compared by identity. */
  textOf(record: R, shown: readonly unknown[], view: () => object): string {
    const known = this.#texts.get(record)
    if (known && shown.every((value, index) => value === known.shown[index])) return known.text
    const text = JSON.stringify(view())
    this.#texts.set(record, { shown, text })
    return text
  }
}

/** A whole list as JSON, from the JSON of its items. */
export const listText = (items: readonly string[]): string =>
  `{"items":[${items.join(',')}],"total":${items.length},"next_cursor":null}`
