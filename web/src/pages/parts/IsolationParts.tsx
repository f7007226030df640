import { useState } from 'react'
import { type Confinement, NO_GRANTS } from '../../data/server/isolation.ts'
import { IsolationFields } from '../../parts/isolation/IsolationFields.tsx'
import { PathsField } from '../../parts/isolation/PathsField.tsx'
import { PlaceMark, PlaceText } from '../../parts/isolation/PlaceMark.tsx'
import { t } from './messages.ts'
import { Part } from './Part.tsx'
import css from './Parts.module.css'

const confinement = (
  isolation: Confinement['isolation'],
  options: Partial<Confinement['isolation_options']> = {},
): Confinement => ({
  isolation,
  isolation_options: { ...NO_GRANTS, ...options },
})
const PLACES = [
  confinement('sandbox'),
  confinement('sandbox', { write: ['~/notes'], read: ['/data', '~/a', '~/b', '~/c'], network: 'full' }),
  confinement('container', { image: 'node:22-slim' }),
]

/** Where servers run, and what is open there. */
export function IsolationParts() {
  const [given, setGiven] = useState(confinement('sandbox', { write: ['~/notes'] }))
  const [image, setImage] = useState(confinement('container', { image: 'node:22-slim' }))
  return (
    <>
      <Part title={t('places')}>
        <div className={css.wrap}>
          {PLACES.map((each) => (
            <PlaceMark key={JSON.stringify(each)} confinement={each} />
          ))}
        </div>
        {PLACES.map((each) => (
          <PlaceText key={JSON.stringify(each)} confinement={each} />
        ))}
        <PathsField label="Wrong path" paths={['notes']} onChange={() => {}} />
        <PathsField label="Read-only" paths={['~/notes']} disabled onChange={() => {}} />
      </Part>
      <Part title={t('isolation')}>
        <IsolationFields confinement={given} isPackage onChange={setGiven} />
        <IsolationFields confinement={image} onlyIsolated onChange={setImage} />
      </Part>
    </>
  )
}
