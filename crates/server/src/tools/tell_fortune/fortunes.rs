//! The fortunes, by category and mood. Data only; the parent module chooses one.

use super::{Category, Mood};

/// Every fortune for this category and mood. Never empty.
pub(super) fn fortunes(category: Category, mood: Mood) -> &'static [&'static str] {
    match (category, mood) {
        (Category::Love, Mood::Optimistic) => LOVE_OPTIMISTIC,
        (Category::Love, Mood::Mysterious) => LOVE_MYSTERIOUS,
        (Category::Love, Mood::Cautious) => LOVE_CAUTIOUS,
        (Category::Career, Mood::Optimistic) => CAREER_OPTIMISTIC,
        (Category::Career, Mood::Mysterious) => CAREER_MYSTERIOUS,
        (Category::Career, Mood::Cautious) => CAREER_CAUTIOUS,
        (Category::Health, Mood::Optimistic) => HEALTH_OPTIMISTIC,
        (Category::Health, Mood::Mysterious) => HEALTH_MYSTERIOUS,
        (Category::Health, Mood::Cautious) => HEALTH_CAUTIOUS,
        (Category::Wealth, Mood::Optimistic) => WEALTH_OPTIMISTIC,
        (Category::Wealth, Mood::Mysterious) => WEALTH_MYSTERIOUS,
        (Category::Wealth, Mood::Cautious) => WEALTH_CAUTIOUS,
        (Category::General, Mood::Optimistic) => GENERAL_OPTIMISTIC,
        (Category::General, Mood::Mysterious) => GENERAL_MYSTERIOUS,
        (Category::General, Mood::Cautious) => GENERAL_CAUTIOUS,
    }
}

const LOVE_OPTIMISTIC: &[&str] = &[
    "A warm message is on its way, and your reply will make someone grin all afternoon.",
    "The kindness you showed last month has taken root; watch it bloom this week.",
    "Someone dear is about to laugh at your joke, even the bad one.",
    "Cook for two this weekend. The conversation will outshine the meal.",
    "An old friendship is ready to grow closer, and a simple hello will open it.",
    "You are easier to love than you think, and people around you already know it.",
    "A shared walk will turn into a favorite memory before you reach the corner.",
    "The thank-you you have been saving will land on a happy heart.",
    "Good company is coming to your table; set out one more cup.",
    "Your patience with someone is about to be met with real tenderness.",
];

const LOVE_MYSTERIOUS: &[&str] = &[
    "Two lanterns are lit on opposite shores; one of them has just begun to cross.",
    "A song you half remember knows the name you have not yet said aloud.",
    "Two cups, one kettle, and a question neither of you needs to ask. The steam spells it out.",
    "What is given twice and never emptied? Look for it in a pair of open hands.",
    "A blue door stands ajar, and from the garden comes a tune that wants a second voice.",
    "The moon keeps one secret about you, and it is a tender one.",
    "Where three paths meet, a familiar laugh is waiting for its echo.",
    "A bird has carried off a thread from your sleeve to build something gentle.",
    "The quietest guest at the feast has saved the seat beside them.",
    "Two shadows lean together before their owners notice. Mind the evening light.",
];

const LOVE_CAUTIOUS: &[&str] = &[
    "A short answer may be only a tired one; ask how their day went before you guess.",
    "Do not let a small hurt grow in silence. Name it softly, and name it soon.",
    "Promise a little less this week, and keep every word of it.",
    "Before you give advice to someone you love, ask whether they want it.",
    "A message typed in anger reads badly by morning; let it rest as a draft.",
    "Busy days can crowd out dear people. Put one of their names on your calendar.",
    "Do not test affection with riddles; say plainly what would make you glad.",
    "Being right can cost a pleasant evening. Choose which one you want to keep.",
    "Hurrying closeness can bruise it; give trust the time it asks for.",
    "Take care not to listen only for your turn to speak. Repeat back what you heard.",
];

const CAREER_OPTIMISTIC: &[&str] = &[
    "Your dedication will be recognized soon.",
    "A problem that stumped the whole room is about to make sense to you first.",
    "The skill you practice quietly is nearly ready to be noticed out loud.",
    "Someone is about to mention your name in a meeting, and warmly.",
    "Your next first draft will be better than your last final one.",
    "A good question of yours will save your team a week of work.",
    "The person you helped learn the ropes will soon return the favor with joy.",
    "A task you were dreading will take half the time and teach you twice as much.",
    "Your steady work has built a fine bridge, and you are about to cross it.",
    "Share the idea in your notebook. It will find eager hands to help it along.",
];

const CAREER_MYSTERIOUS: &[&str] = &[
    "The key you carry fits a lock that has not been built yet. Keep it polished.",
    "An empty chair is turning slowly toward the window, as if expecting you.",
    "What you set aside as scrap is the missing piece of a stranger's mosaic.",
    "A ladder lies flat in the grass; call it a bridge, and you will get across.",
    "The apprentice and the master wear the same apron. Look again at who is teaching.",
    "Somewhere a blank page is growing impatient for your handwriting.",
    "The bell you heard as an ending was ringing in a quieter beginning.",
    "Seven small stones make a crossing. You are standing on the fifth.",
    "A map drawn in pencil is more faithful than one in gold; yours has just been sharpened.",
    "The clock in the workshop runs slow for those who love the work. Listen for it.",
];

const CAREER_CAUTIOUS: &[&str] = &[
    "Read the request once more before you begin; the important word may be near the end.",
    "A full plate hides the best dish. Set one task down before you pick up another.",
    "Do not count on being understood by hint. Write your thoughts out in three clear lines.",
    "The quick fix may ask for its wages later; leave a note where you cut the corner.",
    "Beware of praise that hurries you. Ask for a day to think it over.",
    "What worked last time may not fit this time; test it on something small.",
    "Guard an hour of quiet each morning, or other people will spend it for you.",
    "An assumption is resting under your plan; lift the corner and check.",
    "Give credit early and by name, before the moment slips past.",
    "When the deadline looks near, trim the work rather than your sleep. Say so early.",
];

const HEALTH_OPTIMISTIC: &[&str] = &[
    "A brisk walk today will bring you home with a lighter step and a good idea.",
    "The small habit you started is sturdier than it looks; tomorrow it will feel easy.",
    "An early night is waiting for you, with clean sheets and a quiet mind.",
    "Stretch by a sunny window, and the whole morning will stretch with you.",
    "You will soon find a path through the trees that you want to walk every week.",
    "Laughter with friends is on the menu, and second helpings are welcome.",
    "Your next cup of tea will be drunk slowly, warm to the very last sip.",
    "Each patient day is adding up, and you will be proud of the sum.",
    "Fresh air and an unhurried lunch will turn an ordinary Tuesday golden.",
    "A lazy Sunday has your name on it. Enjoy every unplanned minute.",
];

const HEALTH_MYSTERIOUS: &[&str] = &[
    "The river rests in its deepest pools, and still it arrives. There is a pool near you.",
    "An old path remembers your footsteps and has something green to show you.",
    "Who grows stronger by lying down? Ask the field under the snow.",
    "The pillow knows an answer that the desk has forgotten.",
    "Breathe like the tide and notice which shells it leaves at your door.",
    "A cat in a sunbeam guards a very old teaching; sit beside it and say nothing.",
    "The snail carries a bed everywhere and is never scolded for it. Ponder this at noon.",
    "Follow the hill until the wind changes its story. You will know when to turn home.",
    "In the hour between lamp and dawn, stillness is mending a net for you.",
    "A cup half filled with silence refreshes more than one brimming with noise.",
];

const HEALTH_CAUTIOUS: &[&str] = &[
    "You have been running on borrowed hours; pay a few back with an early bedtime.",
    "Do not wait for the perfect routine. Ten minutes of walking is a fair beginning.",
    "The bright screen keeps late company. Leave it in another room tonight.",
    "Go gently with a new habit; start at half of what your eagerness suggests.",
    "Long sitting makes a long afternoon; stand up and look out of a window each hour.",
    "One missed day is only a pause. Resume tomorrow, before it becomes a pattern.",
    "A hurried meal is soon forgotten; put down the phone and taste this one.",
    "Take care not to carry every worry to bed. Write them down and close the notebook.",
    "Rest is not a prize for finishing. Take your break while the work still goes well.",
    "Comparing your pace with another's will spoil the walk; choose your own landmark.",
];

const WEALTH_OPTIMISTIC: &[&str] = &[
    "A jar of small savings is about to surprise you with its weight.",
    "Something you mend this week will please you more than anything new.",
    "Your careful list will leave a little over, enough to treat a friend to coffee.",
    "The craft you keep practicing is becoming a treasure no one can misplace.",
    "A gift you give freely will come back to you as a fine story.",
    "Clear out one drawer, and you will find something useful you forgot you owned.",
    "A simple plan written tonight will make the whole month feel roomier.",
    "Your table will be full this season, because you know how to share it.",
    "The thing you make by hand is about to delight someone for years.",
    "You already have more than enough to be generous with: start with your time.",
];

const WEALTH_MYSTERIOUS: &[&str] = &[
    "The purse that opens easily for others has a curious way of never feeling thin.",
    "A copper coin under the floorboard is dreaming of the day it is needed.",
    "What grows larger each time it is divided? Bring some to your neighbor's door.",
    "The squirrel keeps no ledger, yet winter finds it at home. Study its autumn.",
    "A thread, a needle, a lamp: three friends who once furnished a whole house.",
    "Gold is quiet in the hill, but a good tool sings. Listen for the singing.",
    "The market closes, and still one stall is lit. It trades only in patience.",
    "The potter's bare shelf and full shelf tell one tale; only the clay knows the order.",
    "An old recipe hides a fortune in its margins, measured out in spoonfuls.",
    "The well you dig slowly has already begun to hear the water.",
];

const WEALTH_CAUTIOUS: &[&str] = &[
    "A bargain you did not need is still an expense; sleep on it for one night.",
    "Forgotten subscriptions thrive in busy weeks. Go down the list with a pencil.",
    "When an offer cannot wait until tomorrow, let it leave without you.",
    "Set a little aside before the month begins, for the end of it forgets to.",
    "Do not let generosity tire you out; give what you can give cheerfully.",
    "Before you replace it, see whether a patient hour could repair it.",
    "A plan kept only in your head bends easily. Put the numbers on paper.",
    "Envy is a costly shopping companion; write your list before you leave the house.",
    "Good tools spoil from neglect. Clean and put away the ones that serve you.",
    "Lend only what you could happily give, and agree on the details out loud.",
];

const GENERAL_OPTIMISTIC: &[&str] = &[
    "Tomorrow holds a small delight, and you will be the first to spot it.",
    "The book you open next will have a sentence in it just for you.",
    "A stranger's good mood is about to become yours. Pass it along.",
    "Something you lost patience with is about to work on the very next try.",
    "You will soon hear good news from someone who was eager to tell you first.",
    "The weather may change, but your plans are about to get better either way.",
    "A curious question today will lead to a new favorite hobby by spring.",
    "Say yes to the next invitation; there will be music, or at least good cake.",
    "Your cheerful stubbornness is about to open a door that politeness could not.",
    "This is a fine week to begin. Even the traffic lights seem to agree.",
];

const GENERAL_MYSTERIOUS: &[&str] = &[
    "The answer is wearing a different coat today. Greet everyone kindly.",
    "Behind the third cloud from the left, a small good thing is making up its mind.",
    "A feather, a button, a ticket stub: one of these will matter before the week turns.",
    "You are the traveler in someone else's tale, and they are fond of your chapter.",
    "The fog is only a curtain, and the stagehands are nearly done.",
    "A kite without a string is waiting for a child, a breeze, or perhaps your next idle hour.",
    "An owl asked the well a question, and the well replied with the stars.",
    "The longest way around passes a garden the short road never learned of.",
    "There is a stair in your house that creaks like a hint. Step lightly and smile.",
    "Last night the stars moved one chair closer to your side of the table.",
];

const GENERAL_CAUTIOUS: &[&str] = &[
    "Check your pockets before you close the door, and your mood before you open it.",
    "Not every open gate is an invitation; read the sign, then decide.",
    "A decision made hungry is seldom your best. Eat something first.",
    "The shortcut looks shorter in the dark; take the road with lamps.",
    "Leave ten minutes early tomorrow, and let the surprises find you calm.",
    "A rumor is coming your way. Let it stop with you, or ask the person it concerns.",
    "Keep a spare of whatever you would hate to lose, and label it well.",
    "You may be carrying a task that is not yours; ask whose it is before you lift.",
    "Be wary of certainty that came too quickly. Try the other side for an hour.",
    "Rain is likely on the day you least expect it. Pack an umbrella and good humor.",
];
