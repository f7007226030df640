export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/**
 * One step from the top of a file towards a value: the member of that name, the item of a list whose field says this,
 * or the item of a list that is this text.
 */
export type Step = string | ItemWith | ItemThatIs
export interface ItemWith {
  readonly field: string
  readonly is: string
}
export interface ItemThatIs {
  readonly item: string
}
export type Path = readonly Step[]

export const stepName = (step: Step): string =>
  typeof step === 'string' ? step : 'item' in step ? step.item : step.is

export interface Place {
  /** From 1. */
  readonly line: number
  /** From 1, in characters. */
  readonly column: number
}

/** A file that is not touched: it cannot be read, or it can be read in two ways. */
export class CannotEdit extends Error {
  override readonly name = 'CannotEdit'
  readonly place: Place

  constructor(message: string, place: Place) {
    super(message)
    this.place = place
  }
}

/**
 * What was there before the first value was put into an empty place, so that taking it out again leaves the same
 * bytes. Only the format that wrote it understands it; it is kept as text.
 */
export type Trace = string

export interface Edited {
  readonly text: string
  /** Undefined when the place was there and not empty: then nothing need be remembered. */
  readonly trace: Trace | undefined
}

/**
 * Reads and edits one kind of file. An edit changes the bytes of one value and what separates it from its neighbours,
 * and nothing else: comments, order, indentation, line ends, BOM and the end of the file stay.
 *
 * Every function throws `CannotEdit` for a text that it cannot read, or where the path leads through something that
 * can be read in two ways (a name that stands there twice), or that is no map or list as the path says.
 */
export interface Format {
  /** All that it says; undefined when it says nothing (no text, or only comments). */
  read(text: string): Json | undefined
  /** The same by another parser, which shares no code with the first. Every edit is held against it before it is written. */
  readAgain(text: string): Json | undefined
  /** Where the value, with its name, begins; undefined when there is none. */
  find(text: string, path: Path): Place | undefined
  /** Puts a value there, behind its neighbours, or in the place of the one that is there. Maps and lists on the way are made. */
  set(text: string, path: Path, value: Json): Edited
  /** Takes the value out, if it is there. With the trace of the first `set` also what that had to make, once it is empty. */
  remove(text: string, path: Path, trace?: Trace): string
}
