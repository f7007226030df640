import { useState } from 'react'
import { NO_DOORS, type Walls } from '../../data/server/walls.ts'
import { PathsField } from '../../parts/walls/PathsField.tsx'
import { PlaceMark, PlaceText } from '../../parts/walls/PlaceMark.tsx'
import { WallsFields } from '../../parts/walls/WallsFields.tsx'
import { t } from './messages.ts'
import { Part } from './Part.tsx'
import css from './Parts.module.css'

const walls = (isolation: Walls['isolation'], options: Partial<Walls['isolation_options']> = {}): Walls => ({
  isolation,
  isolation_options: { ...NO_DOORS, ...options },
})
const PLACES = [
  walls('sandbox'),
  walls('sandbox', { write: ['~/notes'], read: ['/data', '~/a', '~/b', '~/c'], network: 'full' }),
  walls('container', { image: 'node:22-slim' }),
]

/** Where servers run, and what is open there. */
export function WallsParts() {
  const [given, setGiven] = useState(walls('sandbox', { write: ['~/notes'] }))
  const [image, setImage] = useState(walls('container', { image: 'node:22-slim' }))
  return (
    <>
      <Part title={t('places')}>
        <div className={css.wrap}>
          {PLACES.map((each) => (
            <PlaceMark key={JSON.stringify(each)} walls={each} />
          ))}
        </div>
        {PLACES.map((each) => (
          <PlaceText key={JSON.stringify(each)} walls={each} />
        ))}
        <PathsField label="Wrong path" paths={['notes']} onChange={() => {}} />
        <PathsField label="Read-only" paths={['~/notes']} disabled onChange={() => {}} />
      </Part>
      <Part title={t('walls')}>
        <WallsFields walls={given} isPackage onChange={setGiven} />
        <WallsFields walls={image} onlyWalls onChange={setImage} />
      </Part>
    </>
  )
}
