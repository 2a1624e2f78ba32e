*** Settings ***
Documentation       Ports that the agent of a node has ready before their pods (docs/decisions/0088): an ADD takes one, more ADDs than there are ready go on without, and
...                 whatever ends in the middle leaves nothing behind.
Resource            ../resources/coeus.resource
Library             ../libraries/Cni.py
Suite Setup         Start A Node With Ready Ports
Suite Teardown      Run Keywords    Stop Agents    AND    Stop Lab
Test Timeout        4 minutes

*** Variables ***
${READY}            ${4}

*** Test Cases ***
Ports Are There Before Their Pods And Do Nothing
    So Many Should Be Ready    1    ${READY}
    Flow Count Should Become    1    ${EMPTY FLOWS}
    Ready Ports Should Have No Flows    1
    Nothing Should Be Left    1
    Add By Cni    1    hears
    Ready Ports Let Nothing Through    1    default:hears
    Delete By Cni    default:hears

An Add Takes One And It Is Not Given Back
    @{before}=    So Many Should Be Ready    1    ${READY}
    Add By Cni    1    p1
    ${port}=    Port Of    default:p1
    Should Contain    ${before}    ${port}
    @{after}=    So Many Should Be Ready    1    ${READY}
    Should Not Contain    ${after}    ${port}
    ${mac}=    External Id    default:p1    attached-mac
    ${has}=    Inside Pod    default:p1    cat    /sys/class/net/eth0/address
    Should Be Equal    ${has.strip()}    ${mac}
    ${offload}=    Inside Pod    default:p1    ethtool    -k    eth0
    Should Contain    ${offload}    tx-checksumming: off
    Call By Cni    CHECK    default:p1
    Add By Cni    1    p2
    Ping Should Pass    default:p1    10.11.1.3
    Delete By Cni    default:p2
    Delete By Cni    default:p1
    @{last}=    So Many Should Be Ready    1    ${READY}
    Should Not Contain    ${last}    ${port}
    Nothing Should Be Left    1

An MTU Of The Network Is That Of Both Ends
    Network Is    1    mtu=${1300}
    Add By Cni    1    narrow
    @{mtus}=    Mtus Of    default:narrow
    Should Be Equal    ${mtus}    ${{[1300, 1300]}}
    Call By Cni    CHECK    default:narrow
    Delete By Cni    default:narrow
    [Teardown]    Network Is    1

What Somebody Takes Away Is Done Without
    @{names}=    So Many Should Be Ready    1    ${READY}
    End Device    1    ${names}[0]
    End Device    1    ${names}[1]
    End Port    1    ${names}[2]
    Add Many    1    6    at_once=1
    Each Of Many Should Answer    6
    So Many Are There    1    6
    Delete Many    6
    So Many Should Be Ready    1    ${READY}
    Nothing Should Be Left    1

More At Once Than Are Ready
    So Many Should Be Ready    1    ${READY}
    Add Many    1    30
    So Many Are There    1    30
    Each Of Many Should Answer    30
    So Many Should Be Ready    1    ${READY}
    Delete Many    30
    So Many Should Be Ready    1    ${READY}
    Nothing Should Be Left    1
    Flow Count Should Become    1    ${EMPTY FLOWS}

Many At Once While The Agent Is Killed
    FOR    ${round}    IN RANGE    3
        Begin Many    1    12
        Kill Agent    1
        End Many
        Start Agent    1    words=${WORDS}
        Collect By Cni    1
        Nothing Should Be Left    1    timeout=10
        So Many Should Be Ready    1    ${READY}
    END
    Flow Count Should Become    1    ${EMPTY FLOWS}

An Agent That Is Killed At Any Moment Leaves Nothing Ready Behind
    ${cut}    ${begun}=    End In The Middle    1    agent    12    words=${WORDS}
    Should Be True    ${cut} > 0 and ${begun} > 0
    Collect By Cni    1
    Nothing Should Be Left    1    timeout=10
    So Many Should Be Ready    1    ${READY}
    Flow Count Should Become    1    ${EMPTY FLOWS}
    [Teardown]    Forget The Cut

A Port Whose Record Is Lost Goes By What It Says
    Add By Cni    1    lost
    Kill Agent    1
    Lose Records    1
    Start Agent    1    words=${WORDS}
    Call By Cni    DEL    default:lost
    Ports And Devices Should Be Gone    1
    End Namespace Of    default:lost
    [Teardown]    Forget Entries

None Are Ready Among Few Pods
    Kill Agent    1
    ${few}=    Create List    --ready-ports    ${READY}    --ready-from    2
    Start Agent    1    words=${few}
    So Many Should Be Ready    1    0
    Add Many    1    2    at_once=1
    So Many Should Be Ready    1    ${READY}
    Delete Many    2
    Nothing Should Be Left    1

None Are To Be Ready
    Kill Agent    1
    ${none}=    Create List    --ready-ports    0
    Start Agent    1    words=${none}
    So Many Should Be Ready    1    0
    Add By Cni    1    usual
    Call By Cni    CHECK    default:usual
    Delete By Cni    default:usual
    Nothing Should Be Left    1
    So Many Should Be Ready    1    0

The Doctor Says How Many
    Install As On A Node    1
    Kill Agent    1
    Start Agent    1    words=${WORDS}
    So Many Should Be Ready    1    ${READY}
    ${found}=    Doctor Of Node    1    --ready-ports    ${READY}
    Should Be Equal    ${found}[ready ports][level]    ok
    Should Be Equal    ${found}[ready ports][text]    ${READY} of ${READY}
    @{names}=    So Many Should Be Ready    1    ${READY}
    End Device    1    ${names}[0]
    Wait Until Keyword Succeeds    10 s    0.3 s    Doctor Should Doubt    1    ready ports
    Tables Should Be As From Scratch

*** Keywords ***
Start A Node With Ready Ports
    Start Lab And Session    1
    Announce Node    1    10.11.1.0/24
    ${count}=    Wait Until Keyword Succeeds    30 s    0.5 s    Settled Flow Count    1
    Set Suite Variable    ${EMPTY FLOWS}    ${count}
    ${words}=    Create List    --ready-ports    ${READY}    --ready-from    0
    Set Suite Variable    ${WORDS}    ${words}
    Start Agent    1    words=${WORDS}
    Network Is    1

Doctor Should Doubt
    [Arguments]    ${node}    ${what}
    ${found}=    Doctor Of Node    ${node}
    Should Not Be Equal    ${found}[${what}][level]    ok
    Should Not Be Empty    ${found}[${what}][next]
