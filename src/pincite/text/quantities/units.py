"""Units of measure by their names, and what one of each is in its measure's base unit.

A table instead of a library: pint reads "5 km" but neither "a mile and a half", "£6.4m" nor "sq
mi", and its import takes longer than all the values of an article.
"""

import re

# Name → (measure, what one is in the measure's base unit).
_TABLE = """
length: km kms kilometre kilometres kilometer kilometers=1000; mi mile miles=1609.344;
 m metre metres meter meters=1; ft foot feet=0.3048; inch inches=0.0254; yd yard yards=0.9144;
 cm centimetre centimetres centimeter centimeters=0.01; mm millimetre millimetres millimeter
 millimeters=0.001; nautical_miles nautical_mile=1852
| mass: kg kgs kilogram kilograms kilogramme kilogrammes kilo kilos=1; g gram grams gramme grammes=
 0.001; mg milligram milligrams=0.000001; lb lbs=0.45359; oz ounce ounces=0.02835;
 tonne tonnes=1000; ton tons=1000; stone=6.35
| area: hectare hectares ha=10000; acre acres=4046.86; km² km2 sq_km square_kilometre
 square_kilometres square_kilometer square_kilometers=1000000; sq_mi sq_mile sq_miles square_mile
 square_miles=2589988; m² m2 sq_m square_metre square_metres square_meter square_meters=1;
 sq_ft square_foot square_feet=0.0929
| volume: litre litres liter liters l=1; ml millilitre millilitres milliliter milliliters=0.001;
 imperial_gallon imperial_gallons=4.546; us_gallon us_gallons=3.785; gallon gallons=4.15;
 pint pints=0.52; barrel barrels=159;
 m³ m3 cubic_metre cubic_metres cubic_meter cubic_meters=1000
| speed: km/h kmh kph kilometres_per_hour kilometers_per_hour kilometres_an_hour
 kilometers_an_hour=1; mph miles_per_hour miles_an_hour=1.609344; m/s metres_per_second
 meters_per_second=3.6; knot knots=1.852
| temperature: °c degrees_celsius degrees_centigrade degree_celsius celsius=1;
 °f degrees_fahrenheit degree_fahrenheit fahrenheit=1
| time: second seconds=1; min mins minute minutes=60; hour hours hr hrs=3600; day days=86400;
 week weeks=604800; fortnight fortnights=1209600; month months=2629800; year years yr yrs
 year-old years-old=31557600; decade decades=315576000
| power: w watt watts=1; kw kilowatt kilowatts=1000; mw megawatt megawatts=1000000;
 gw gigawatt gigawatts=1000000000; hp horsepower=745.7
| money $: dollar dollars usd=1
| money €: euro euros eur=1
| money £: sterling gbp=1
| money ¥: yen jpy yuan=1
| money kr: kroner kronor krone krona crowns=1
| pounds: pound pounds=1
"""


def _units() -> tuple[dict[str, tuple[str, str]], dict[str, float]]:
    """Every name of a unit → (measure, the unit's first name), and each first name's factor."""
    names, factors = dict[str, tuple[str, str]](), dict[str, float]()
    for line in " ".join(_TABLE.split()).split("|"):
        measure, units = (part.strip() for part in line.split(":", 1))
        for unit in units.split(";"):
            words, factor = unit.split("=")
            plain = [word.replace("_", " ") for word in words.split()]
            # The singular of time names the unit of ages: "year".
            names |= dict.fromkeys(plain, (measure, plain[0]))
            factors[plain[0]] = float(factor)
    return names, factors


UNITS, FACTORS = _units()
LOOSE = {"gallon": 0.12, "ton": 0.12}  # units of more than one size
# All but the letters that mean other things too.
_NAMES = sorted(set(UNITS) - {"m", "l", "g", "w", "min"}, key=len, reverse=True)
UNIT = "|".join(map(re.escape, _NAMES))
